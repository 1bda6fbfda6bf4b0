"""DNS lookups: which results are cached, for how long, and how the sender copes with name servers that hang."""

import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest

from chalicelib import clock
from chalicelib.sending import lookups
from chalicelib.sending.sender import post
from tests.sending import receivers
from tests.sending.receivers import receiver
from tests.sending.sockets import Resolve, Watch
from tests.sending.timed_post import BODY, DEADLINE, HOST, post_and_check

pytestmark = pytest.mark.usefixtures("public_only", "empty_cache")


@pytest.fixture
def day(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Stop the wall clock; return its milliseconds in a list, so that a test can change the time."""
    now = [1_795_228_530_123]
    monkeypatch.setattr(clock, "milliseconds", lambda: now[0])
    return now


@pytest.mark.parametrize(("later", "asked_for"), {0: 1, 999: 1, 1000: 2, -1: 2}.items())
def test_a_dns_answer_is_cached_for_a_second(
    later: int, asked_for: int, private: None, day: list[int], names: Callable[[Resolve], list[str]]
) -> None:
    lookups = names(lambda _: ["127.0.0.1"])
    with receiver(receivers.acknowledges) as endpoint:
        for _ in range(2):
            assert post_and_check(f"http://{HOST}:{endpoint.port}/")[0].status == 200
            day[0] += later
        assert endpoint.connections == 2
    assert len(lookups) == asked_for


def test_a_cached_dns_answer_is_checked_for_each_delivery(
    private: None, day: list[int], names: Callable[[Resolve], list[str]], watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch.refuse = True
    lookups = names(lambda _: ["127.0.0.1"])
    assert post_and_check(f"https://{HOST}/")[0].error == "Connection failed: connectionrefusederror."
    monkeypatch.delenv("CAMS_WEBHOOK_ALLOW_PRIVATE")
    assert post_and_check(f"https://{HOST}/")[0].error == "The host resolves to an address that is not public."
    assert lookups == [HOST]
    assert len(watch.connects) == 1


def test_a_failed_lookup_is_not_cached(private: None, day: list[int], names: Callable[[Resolve], list[str]]) -> None:
    def unknown_at_first(_: str) -> list[str]:
        if len(lookups) == 1:
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return ["127.0.0.1"]

    lookups = names(unknown_at_first)
    with receiver(receivers.acknowledges) as one:
        assert [post_and_check(f"http://{HOST}:{one.port}/")[0].status for _ in range(2)] == [None, 200]


def test_the_number_of_cached_hosts_is_bounded(
    private: None, watch: Watch, names: Callable[[Resolve], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    watch.refuse = True
    monkeypatch.setattr(lookups, "_MAX_CACHED", 8)
    names(lambda _: ["127.0.0.1"])
    for number in range(20):
        post_and_check(f"https://{number}.cams.test/")
        assert len(lookups.cache) <= 8


def test_an_unknown_name_is_an_error(names: Callable[[Resolve], list[str]], watch: Watch) -> None:
    def unknown(_: str) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    names(unknown)
    outcome, _ = post_and_check(f"https://{HOST}/")
    assert outcome[:2] == (None, "DNS lookup failed: name or service not known.")
    assert watch.sockets == 0


@pytest.fixture
def stuck(names: Callable[[Resolve], list[str]]) -> Iterator[list[str]]:
    """Let name servers hang until the test ends, except for two hosts. Yield the names that are looked up."""
    over = threading.Event()
    waits = {"good.test": 0, "slow.test": DEADLINE / 2}

    def hang(host: str) -> list[str]:
        over.wait(waits.get(host))
        return ["127.0.0.1"]

    yield names(hang)
    over.set()
    while lookups.in_flight:
        time.sleep(0.001)


def looking_up() -> int:
    """Count the lookup threads, including idle threads."""
    return sum(thread.name == "lookup" for thread in threading.enumerate())


def test_a_name_server_that_hangs_ends_with_the_deadline(private: None, stuck: list[str]) -> None:
    outcome, took = post_and_check(f"http://{HOST}/")
    assert outcome[:2] == (None, "DNS lookup timed out.")
    assert took >= DEADLINE


def test_deliveries_to_one_hanging_host_share_a_lookup_thread(private: None, stuck: list[str]) -> None:
    with receiver(receivers.acknowledges) as one, ThreadPoolExecutor(100) as pool:
        hanging = [pool.submit(post_and_check, f"http://{HOST}/") for _ in range(99)]
        outcome, took = post_and_check(f"http://good.test:{one.port}/")
        assert {each.result()[0].status for each in hanging} == {None}
    assert outcome.status == 200
    assert took < DEADLINE
    assert sorted(stuck) == ["good.test", HOST]


def test_hanging_hosts_use_a_bounded_number_of_threads(private: None, stuck: list[str]) -> None:
    before = threading.active_count() - looking_up()
    with ThreadPoolExecutor(100) as pool:
        # The deadline is long, because a loaded machine starts the threads slowly.
        hanging = [
            pool.submit(post_and_check, f"http://{number}.cams.test/", BODY, 4 * DEADLINE) for number in range(100)
        ]
        latest = time.monotonic() + 4 * DEADLINE
        while looking_up() < lookups.MAX_LOOKUPS and time.monotonic() < latest:
            time.sleep(DEADLINE / 20)
        during = threading.active_count()
        assert looking_up() == lookups.MAX_LOOKUPS
        assert {each.result()[0].error for each in hanging} == {"DNS lookup timed out."}
    sys.stdout.write(f"{during - before} threads for 100 deliveries, {len(stuck)} names asked for\n")
    assert during - before == 100 + lookups.MAX_LOOKUPS
    assert len(stuck) == lookups.MAX_LOOKUPS


def test_a_lookup_that_is_already_running_needs_no_free_slot(private: None, stuck: list[str]) -> None:
    with receiver(receivers.acknowledges) as endpoint, ThreadPoolExecutor(100) as pool:
        for number in range(lookups.MAX_LOOKUPS - 1):
            pool.submit(post_and_check, f"http://{number}.cams.test/")
        # The deadline is long, because a loaded machine starts the threads slowly. The other lookups hang longer.
        slow = [
            pool.submit(post_and_check, f"http://slow.test:{endpoint.port}/", BODY, 10 * DEADLINE) for _ in range(20)
        ]
        assert {each.result()[0].status for each in slow} == {200}
    assert stuck.count("slow.test") == 1


def test_running_out_of_threads_fails_only_that_delivery(private: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with receiver(receivers.acknowledges) as endpoint:
        with monkeypatch.context() as full:
            full.setattr(threading.Thread, "start", none_left)
            full.setattr(lookups, "_idle", 0)
            assert post_and_check(endpoint.url)[0].error == "DNS lookup failed: no thread is available."
        assert post_and_check(endpoint.url)[0].status == 200


def test_a_free_slot_goes_to_a_waiting_lookup(private: None, names: Callable[[Resolve], list[str]]) -> None:
    lookups = names(lambda _: time.sleep(0.02) or ["127.0.0.1"])  # type: ignore[func-returns-value]
    with receiver(receivers.acknowledges) as one, ThreadPoolExecutor(300) as pool:
        urls = [f"http://{number % 200}.cams.test:{one.port}/" for number in range(300)]
        outcomes = list(pool.map(partial(post, body=BODY, headers={}, deadline_seconds=10), urls))
    assert {outcome.status for outcome in outcomes} == {200}
    assert max(outcome.duration_ms for outcome in outcomes) < 2000
    assert 200 <= len(lookups) <= 300


def test_a_slot_that_a_waiter_does_not_need_goes_to_the_next_one(
    names: Callable[[Resolve], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lookups, "MAX_LOOKUPS", 2)
    answered = {host: threading.Event() for host in ("first.test", "second.test", "slow.test", "good.test")}
    answered["good.test"].set()
    reached, wait = threading.Semaphore(0), lookups._finished.wait

    def resolve(host: str) -> list[str]:
        reached.release()
        answered[host].wait(5)
        return ["127.0.0.1"]

    def waits(seconds: float | None = None) -> bool:
        reached.release()
        return wait(seconds)

    names(resolve)
    monkeypatch.setattr(lookups._finished, "wait", waits)
    with ThreadPoolExecutor(5) as pool:
        for host in ("first.test", "second.test", "slow.test", "slow.test", "good.test"):
            last = pool.submit(lookups.look_up, host, 80, time.monotonic() + 5)
            assert reached.acquire(timeout=5)  # the lookups run, or wait in this order
        answered["first.test"].set()
        answered["second.test"].set()  # frees two slots; the lookup for the first two waiters takes one
        assert last.result()
        assert ("slow.test", 80) in lookups.in_flight
        answered["slow.test"].set()
