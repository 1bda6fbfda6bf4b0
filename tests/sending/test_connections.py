"""Hosts that have several addresses, including IPv6: which addresses are tried, and in which order."""

import socket
from collections.abc import Callable

import pytest

from tests.sending import receivers
from tests.sending.hostile_receivers import NO_ANSWER
from tests.sending.receivers import Certificates, receiver
from tests.sending.sockets import Resolve, Watch
from tests.sending.timed_post import DEADLINE, HOST, post_and_check

pytestmark = pytest.mark.usefixtures("public_only", "empty_cache")


def test_the_next_address_is_tried_when_one_refuses_the_connection(
    private: None, watch: Watch, names: Callable[[Resolve], list[str]]
) -> None:
    names(lambda _: ["127.0.0.2", "127.0.0.3", "127.0.0.1"])
    with receiver(receivers.acknowledges) as one:
        outcome, _ = post_and_check(f"http://{HOST}:{one.port}/")
    assert outcome.status == 200
    assert [address for address, _ in watch.connects] == ["127.0.0.2", "127.0.0.3", "127.0.0.1"]


def test_an_address_that_hangs_leaves_time_for_the_next(
    private: None, names: Callable[[Resolve], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiver(receivers.hangs, accepts=False) as hanging, receiver(receivers.acknowledges) as one:
        both = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", each.port)) for each in (hanging, one)]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: both)
        outcome, took = post_and_check(f"http://{HOST}/")
    assert outcome.status == 200
    assert took >= DEADLINE / 2


def test_a_failure_after_the_connection_is_final(
    private: None, watch: Watch, names: Callable[[Resolve], list[str]]
) -> None:
    names(lambda _: ["127.0.0.1", "127.0.0.1"])
    with receiver(receivers.answers()) as one:
        outcome, _ = post_and_check(f"http://{HOST}:{one.port}/")
    assert outcome.error == NO_ANSWER
    assert len(watch.connects) == 1


def test_no_more_than_four_addresses_are_tried(
    private: None, watch: Watch, names: Callable[[Resolve], list[str]]
) -> None:
    names(lambda _: [f"127.0.0.{last}" for last in range(2, 12)])
    with receiver(receivers.hangs) as one:
        outcome, _ = post_and_check(f"http://{HOST}:{one.port}/")
    assert outcome.error == "Connection failed: connection refused."
    assert len(watch.connects) == 4


def _ipv6_works() -> bool:
    try:
        with socket.socket(socket.AF_INET6) as one:
            one.bind(("::1", 0))
    except OSError:
        return False
    return True


@pytest.mark.skipif(not _ipv6_works(), reason="this machine has no IPv6")
@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
def test_a_receiver_may_have_an_ipv6_address(
    secure: bool, private: None, trusted: None, certificates: Certificates
) -> None:
    with receiver(receivers.acknowledges, host="::1", tls=certificates.server() if secure else None) as one:
        outcome, _ = post_and_check(one.url)
    assert outcome.status == 200
    assert f"Host: [::1]:{one.port}\r\n".encode() in one.requests[0]
