"""The local run delivers each webhook once and within a second, and loses no webhook if its processes are killed.

The tests use a real run and real receivers. `-s` prints the delivery latency, which is the time from the commit (the
event's `createdAt`) until the receiver has read the request.
"""

from __future__ import annotations

import json
import math
import os
import signal
import socket
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from chalicelib.webhooks import events
from tests.guarantees import CaseCounter
from tests.reliability.engine_fixture import wait_until
from tests.reliability.runs import Run, ask, begin, end, engine_client, free_port, kill
from tests.selection import whole
from tests.sending.receivers import OK, Behaviour, Receiver, read_request, reads_and_hangs, receiver
from tests.webhooks.story import STORY

pytestmark = pytest.mark.engine

_BURST = 400
# The target is one second. A loaded machine takes much longer, but only a lost event takes this long.
_SECONDS_TO_ARRIVE = 60
_QUEUES = ("cams-deliveries", "cams-deliveries-slow")
_COUNTS = ("ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed")


class Arrival(NamedTuple):
    """A request that a receiver has read, with its arrival time in Unix seconds."""

    at: float
    event_id: str
    body: dict[str, Any]

    @property
    def milliseconds(self) -> float:
        """Return the time since the change was committed."""
        return self.at * 1000 - self.body["payload"]["createdAt"]


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Start one run, shared by all tests that do not stop it."""
    started = begin(tmp_path_factory.mktemp("webhooks"), free_port())
    yield started
    end(started, signal.SIGINT)
    assert not started.processes


def test_every_kind_of_change_arrives_once(run: Run) -> None:
    arrivals: list[Arrival] = []
    with receiver(_record_arrivals(arrivals)) as hook:
        _subscribe(run, hook, *(type_ for type_, *_ in STORY))
        for number, (_, *request) in enumerate(STORY):
            _answered(run, *request)
            wait_until(partial(_has, arrivals, number + 1), _SECONDS_TO_ARRIVE)
            assert len(arrivals) == number + 1
        wait_until(partial(_is_idle, run))

    assert [arrival.body["type"] for arrival in arrivals] == [type_ for type_, *_ in STORY]
    secret = run.credentials["workspace_secret"]
    assert {arrival.body["payload"]["workspaceSecret"] for arrival in arrivals} == {secret}
    assert secret not in run.output


@pytest.mark.parametrize("count", [30, pytest.param(500, marks=pytest.mark.long)])
def test_events_are_delivered_once_and_measured(count: int, run: Run) -> None:
    arrivals: list[Arrival] = []
    with receiver(_record_arrivals(arrivals)) as hook:
        webhook = _subscribe(run, hook, "agent_created")
        for number in range(count):
            _answered(run, "POST", f"/v2/agents/{count}-{number}", {"title": "Quick"})
            # The interval is irregular, so that requests do not coincide with the worker's polling.
            time.sleep(0.005 + number % 7 * 0.004)
        wait_until(lambda: len(arrivals) >= count, _SECONDS_TO_ARRIVE)
        wait_until(lambda: _is_idle(run))
        _answered(run, "DELETE", f"/v3/webhooks/{webhook}")

    assert Counter(arrival.body["payload"]["agentId"] for arrival in arrivals) == Counter(
        f"{count}-{number}" for number in range(count)
    )
    taken = sorted(arrival.milliseconds for arrival in arrivals)
    percentile = taken[math.ceil(0.99 * len(taken)) - 1]
    _show(
        f"commit to POST, {count} events: median {statistics.median(taken):.0f} ms, "
        f"99th percentile {percentile:.0f} ms, longest {taken[-1]:.0f} ms"
    )


@whole
@pytest.mark.guarantee("kept")
def test_after_killing_all_processes_every_acknowledged_change_is_posted_once(
    tmp_path: Path, count_cases: CaseCounter
) -> None:
    run = begin(tmp_path, free_port())
    arrivals: list[Arrival] = []
    with receiver(_record_arrivals(arrivals)) as hook:
        webhook = _subscribe(run, hook, "agent_created")

        def stop() -> None:
            # The kill leaves unread changes in the streams, and a delivery that exists only in the queue.
            worker = next(pid for pid, command in run.processes.items() if "infra.local.worker" in command)
            os.kill(worker, signal.SIGSTOP)
            _answered(run, "POST", f"/v3/webhooks/{webhook}/test")
            kill(run)

        acknowledged = _burst(run, arrivals, stop)
        before = len(arrivals)
        again = begin(tmp_path, run.port)
        wait_until(lambda: not _missing(again, webhook, acknowledged, arrivals) and _is_idle(again))
        missing, outcomes = _missing(again, webhook, acknowledged, arrivals), _outcomes(again, webhook)
        assert end(again, signal.SIGINT) == 0

    _show(f"kill -9: {len(acknowledged)} acknowledged, {before} posted before, {len(arrivals)} in all, {outcomes}")
    assert missing == set()
    assert set(Counter(arrival.event_id for arrival in arrivals).values()) == {1}
    assert events.TEST in {arrival.body["type"] for arrival in arrivals}
    count_cases(faults=1, states=len(acknowledged))


@whole
def test_ctrl_c_loses_no_change_and_does_not_wait_for_hanging_receivers(tmp_path: Path) -> None:
    run = begin(tmp_path, free_port())
    arrivals: list[Arrival] = []
    with receiver(_record_arrivals(arrivals)) as hook:
        with receiver(reads_and_hangs) as hanging:
            _subscribe(run, hanging, "agent_created")
            webhook = _subscribe(run, hook, "agent_created")
            seconds: list[float] = []

            def stop() -> None:
                started = time.monotonic()
                assert end(run, signal.SIGINT) == 0
                seconds.append(time.monotonic() - started)

            acknowledged = _burst(run, arrivals, stop)
        assert not run.processes
        before = len(arrivals)
        again = begin(tmp_path, run.port)
        wait_until(lambda: not _missing(again, webhook, acknowledged, arrivals) and _is_idle(again))
        missing, outcomes = _missing(again, webhook, acknowledged, arrivals), _outcomes(again, webhook)
        assert end(again, signal.SIGINT) == 0

    _show(f"Ctrl-C: {len(acknowledged)} acknowledged, {before} posted before, {len(arrivals)} in all, {outcomes}")
    assert missing == set()
    assert set(Counter(arrival.event_id for arrival in arrivals).values()) == {1}
    # A receiver may take 30 seconds, but a process that does not stop is killed after 15 seconds.
    assert seconds[0] < 10, seconds


def _burst(run: Run, arrivals: list[Arrival], stop: Callable[[], None]) -> set[str]:
    """Create agents concurrently, and call `stop` once some webhooks have arrived; return the acknowledged agents."""
    acknowledged: set[str] = set()

    def create(number: int) -> None:
        with suppress(OSError, ValueError):  # the connection failed or the response is incomplete
            if ask(run, "POST", f"/v2/agents/b-{number}", run.credentials["workspace_key"], {"title": "B"})[0] == 200:
                acknowledged.add(f"b-{number}")

    with ThreadPoolExecutor(4) as pool:
        started = [pool.submit(create, number) for number in range(_BURST)]
        wait_until(partial(_has, arrivals, 20))
        stop()
        for each in started:
            each.cancel()
    assert 20 <= len(acknowledged) < _BURST, "the run did not stop during the burst"
    return acknowledged


def _missing(run: Run, webhook: str, acknowledged: set[str], arrivals: list[Arrival]) -> set[str]:
    """Return the acknowledged changes that were neither posted nor claimed (and then lost their outcome)."""
    missing = acknowledged - {arrival.body["payload"].get("agentId") for arrival in arrivals}
    if not missing:
        return missing
    # A claimed delivery whose outcome is lost is pending until its message expires, and then unknown.
    lost = [one for one in _deliveries(run, webhook) if one["status"] in ("pending", "unknown")]
    return missing - {_payload(run, webhook, one).get("agentId") for one in lost}


def _outcomes(run: Run, webhook: str) -> dict[str, int]:
    return dict(Counter(one["status"] for one in _deliveries(run, webhook)))


def _deliveries(run: Run, webhook: str) -> list[dict[str, Any]]:
    deliveries: list[dict[str, Any]] = []
    answer = _answered(run, "GET", path := f"/v3/webhooks/{webhook}/deliveries?limit=100")
    deliveries += answer["data"]
    while cursor := answer.get("nextCursor"):
        answer = _answered(run, "GET", f"{path}&cursor={cursor}")
        deliveries += answer["data"]
    return deliveries


def _payload(run: Run, webhook: str, delivery: dict[str, Any]) -> dict[str, Any]:
    read = _answered(run, "GET", f"/v3/webhooks/{webhook}/deliveries/{delivery['id']}")
    payload: dict[str, Any] = read["data"]["payload"]
    return payload


def _record_arrivals(arrivals: list[Arrival]) -> Behaviour:
    """Return a handler that responds with 200 and records each event with its arrival time."""

    def behave(connection: socket.socket, _: Receiver) -> None:
        head, _, body = read_request(connection).partition(b"\r\n\r\n")
        at = time.time()
        lines = (line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
        headers = {name.lower(): value for name, value in lines}
        arrivals.append(Arrival(at, headers[b"webhook-id"].decode(), json.loads(body)))
        connection.sendall(OK)

    return behave


def _show(figures: str) -> None:
    sys.stdout.write(f"\n{figures}\n")


def _subscribe(run: Run, hook: Receiver, *types: str) -> str:
    webhook = {"url": hook.url, "events": [type_ for type_ in types if type_ != events.TEST]}
    found: str = _answered(run, "POST", "/v3/webhooks", {"webhook": webhook})["data"]["id"]
    return found


def _answered(run: Run, method: str, path: str, body: Any = None) -> Any:
    status, answer = ask(run, method, path, run.credentials["workspace_key"], body)
    assert status == 200, answer
    return answer


def _is_idle(run: Run) -> bool:
    """Return whether the queues are empty."""
    sqs = engine_client(run, "sqs")
    urls = [sqs.get_queue_url(QueueName=name)["QueueUrl"] for name in _QUEUES]
    counts = [sqs.get_queue_attributes(QueueUrl=url, AttributeNames=list(_COUNTS))["Attributes"] for url in urls]
    return all(set(one.values()) == {"0"} for one in counts)


def _has(arrivals: list[Arrival], count: int) -> bool:
    return len(arrivals) >= count
