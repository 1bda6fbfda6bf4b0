"""The exact bytes and headers of the requests that the sender makes."""

import os

import pytest

from chalicelib.sending.sender import post
from tests.selection import first_case
from tests.sending import receivers
from tests.sending.receivers import Certificates, receiver, status
from tests.sending.sockets import Watch
from tests.sending.timed_post import BODY, post_and_check

pytestmark = pytest.mark.usefixtures("public_only", "empty_cache")


def test_a_delivery_is_exactly_this_request(private: None) -> None:
    with receiver(receivers.acknowledges) as endpoint:
        outcome = post(f"{endpoint.url}/a%20b?c=d", b'{"type":"t"}', {"webhook-id": "msg_1"}, 30)
    assert outcome[:2] == (200, None)
    assert endpoint.requests[0].decode().split("\r\n") == [
        "POST /hook/a%20b?c=d HTTP/1.1",
        f"Host: {endpoint.address}",
        "Content-Type: application/json",
        "Content-Length: 12",
        "Connection: close",
        "User-Agent: cams-webhooks",
        "webhook-id: msg_1",
        "",
        '{"type":"t"}',
    ]
    assert endpoint.connections == 1


INJECTIONS = {
    "a line in a value": {"webhook-id": "1\r\nX-Injected: 1"},
    "a bare line feed": {"webhook-id": "1\n2"},
    "a carriage return": {"webhook-id": "1\r2"},
    "a null": {"webhook-id": "1\x002"},
    "letters beyond ASCII": {"webhook-id": "ü"},
    "a line in a name": {"X-A: 1\r\nX-B": "2"},
    "a colon in a name": {"X-A: 1": "2"},
    "a space in a name": {"X A": "2"},
    "no name": {"": "2"},
    "another host": {"host": "elsewhere"},
    "another length": {"CONTENT-LENGTH": "0"},
    "another framing": {"Transfer-Encoding": "chunked"},
    "another type": {"Content-type": "text/plain"},
}


@first_case
@pytest.mark.parametrize("headers", INJECTIONS.values(), ids=INJECTIONS)
def test_a_header_cannot_inject_another_one(headers: dict[str, str], private: None, watch: Watch) -> None:
    assert post("http://127.0.0.1:9/", BODY, headers, 30)[:2] == (
        None,
        "A header has a reserved name or an invalid character.",
    )
    assert watch.sockets == 0


@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
def test_a_large_body_arrives_whole(secure: bool, private: None, trusted: None, certificates: Certificates) -> None:
    body = os.urandom(3_000_000)
    with receiver(receivers.acknowledges, tls=certificates.server() if secure else None) as one:
        outcome, _ = post_and_check(one.url, body, deadline=10)
    assert outcome.status == 200
    assert one.requests[0].partition(b"\r\n\r\n")[2] == body


def test_cookies_are_not_kept(private: None) -> None:
    with receiver(status(200, "Set-Cookie: a=b; Path=/")) as endpoint:
        for _ in range(2):
            post_and_check(endpoint.url)
    assert len(endpoint.requests) == 2
    assert not any(b"cookie" in request.lower() for request in endpoint.requests)


def test_proxies_of_the_environment_are_ignored(private: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver(receivers.acknowledges) as endpoint, receiver(receivers.acknowledges) as proxy:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, f"http://{proxy.address}")
            monkeypatch.setenv(name.upper(), f"http://{proxy.address}")
        outcome, _ = post_and_check(endpoint.url)
    assert (outcome.status, endpoint.connections, proxy.connections) == (200, 1, 0)
