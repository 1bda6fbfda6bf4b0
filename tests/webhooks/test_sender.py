"""The sender against real sockets: the request, the response, SSRF protection, and the deadline."""

import os
import resource
import socket
import ssl
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from chalicelib import clock
from chalicelib.sending import connection, lookups
from chalicelib.sending.sender import Outcome, check_url, post
from tests.selection import one_of_each
from tests.sockets import Resolve, Watch
from tests.webhooks import receivers
from tests.webhooks.receivers import Behaviour, Certificates, Receiver, receiver, status
from tests.webhooks.test_addresses import ADDRESSES

pytestmark = pytest.mark.usefixtures("public_only", "empty_cache")

ROOT = Path(__file__).parent.parent.parent
DEADLINE = 0.4
SLACK = 0.25
HOST = "hooks.cams.test"
BODY = b'{"type":"webhook_test","payload":{"workspaceSecret":"body-secret"}}'
HEADERS = {"webhook-id": "msg_1", "webhook-signature": "v1,header-secret"}
LARGE = b"x" * 8_000_000


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return receivers.certificates(tmp_path_factory.mktemp("certificates"), HOST)


@pytest.fixture
def trusted(certificates: Certificates, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Only the authority of the tests is trusted."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.authority))
    connection.tls_context.cache_clear()
    yield
    connection.tls_context.cache_clear()


def tried(url: str, body: bytes = BODY, deadline: float = DEADLINE) -> tuple[Outcome, float]:
    """Post; return the outcome and the duration. Checks that it met the deadline, and that its error has no secret."""
    start = time.monotonic()
    outcome = post(url + "?token=url-secret", body, HEADERS, deadline)
    took = time.monotonic() - start
    sys.stdout.write(f"{took:.3f} s: {outcome}\n")
    assert took <= deadline + SLACK
    assert (outcome.error is None) == (outcome.status == 200)
    assert not outcome.error or "secret" not in outcome.error
    return outcome, took


# The request


def test_a_delivery_is_exactly_this_request(private: None) -> None:
    with receiver(receivers.acknowledges) as one:
        outcome = post(f"{one.url}/a%20b?c=d", b'{"type":"t"}', {"webhook-id": "msg_1"})
    assert outcome[:2] == (200, None)
    assert one.requests[0].decode().split("\r\n") == [
        "POST /hook/a%20b?c=d HTTP/1.1",
        f"Host: {one.address}",
        "Content-Type: application/json",
        "Content-Length: 12",
        "Connection: close",
        "User-Agent: cams-webhooks",
        "webhook-id: msg_1",
        "",
        '{"type":"t"}',
    ]
    assert one.connections == 1


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


@one_of_each(lambda: None)
@pytest.mark.parametrize("headers", INJECTIONS.values(), ids=INJECTIONS)
def test_a_header_cannot_inject_another_one(headers: dict[str, str], private: None, watch: Watch) -> None:
    assert post("http://127.0.0.1:9/", BODY, headers)[:2] == (
        None,
        "A header has a reserved name or an invalid character.",
    )
    assert watch.sockets == 0


@pytest.mark.parametrize("secure", [False, True], ids=["http", "https"])
def test_a_large_body_arrives_whole(secure: bool, private: None, trusted: None, certificates: Certificates) -> None:
    body = os.urandom(3_000_000)
    with receiver(receivers.acknowledges, tls=certificates.server() if secure else None) as one:
        outcome, _ = tried(one.url, body, deadline=10)
    assert outcome.status == 200
    assert one.requests[0].partition(b"\r\n\r\n")[2] == body


def test_cookies_are_not_kept(private: None) -> None:
    with receiver(status(200, "Set-Cookie: a=b; Path=/")) as one:
        for _ in range(2):
            tried(one.url)
    assert len(one.requests) == 2
    assert not any(b"cookie" in request.lower() for request in one.requests)


def test_proxies_of_the_environment_are_ignored(private: None, monkeypatch: pytest.MonkeyPatch) -> None:
    with receiver(receivers.acknowledges) as one, receiver(receivers.acknowledges) as proxy:
        for name in ("http_proxy", "https_proxy", "all_proxy"):
            monkeypatch.setenv(name, f"http://{proxy.address}")
            monkeypatch.setenv(name.upper(), f"http://{proxy.address}")
        outcome, _ = tried(one.url)
    assert (outcome.status, one.connections, proxy.connections) == (200, 1, 0)


# The response


@one_of_each(lambda code: code // 100)
@pytest.mark.parametrize("code", [101, 201, 202, 204, 299, 400, 401, 404, 410, 429, 500, 503, 999])
def test_no_other_status_than_200_acknowledges(code: int, private: None) -> None:
    with receiver(status(code)) as one:
        outcome, _ = tried(one.url)
    assert outcome[:2] == (code, f"The receiver answered {code}; only 200 acknowledges a delivery.")


@one_of_each(lambda: None)
@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
def test_a_redirect_is_not_followed(code: int, private: None, watch: Watch) -> None:
    with receiver(receivers.acknowledges) as inside, receiver(status(code, f"Location: {inside.url}")) as one:
        outcome, _ = tried(one.url)
    assert (outcome.status, inside.connections, watch.connects) == (code, 0, [("127.0.0.1", one.port)])


INTERIM = b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n"
ACCEPTED = {
    "at once": [receivers.OK],
    "without a reason": [b"HTTP/1.1 200\r\n\r\n"],
    "in HTTP/1.0": [b"HTTP/1.0 200 OK\r\n\r\n"],
    "with bare line feeds": [b"HTTP/1.1 200 OK\n\n"],
    "in single bytes": [bytes([byte]) for byte in receivers.OK],
    "after 100 Continue": [b"HTTP/1.1 100 Continue\r\n\r\n", receivers.OK],
    "after several hints": [INTERIM, INTERIM + INTERIM[:20], INTERIM[20:] + receivers.OK],
}


@one_of_each(lambda: None)
@pytest.mark.parametrize("pieces", ACCEPTED.values(), ids=ACCEPTED)
def test_200_acknowledges(pieces: list[bytes], private: None) -> None:
    with receiver(receivers.answers(*pieces)) as one:
        outcome, _ = tried(one.url)
    assert outcome[:2] == (200, None)


def test_a_response_before_the_body_was_read_is_accepted(private: None) -> None:
    with receiver(receivers.answers_unread) as one:
        outcome, _ = tried(one.url, LARGE)
    assert outcome.status == 413


@pytest.mark.parametrize("rest", ["hangs", "floods"])
def test_bytes_after_the_status_do_not_change_the_outcome(rest: str, private: None) -> None:
    hangs = receivers.answers(receivers.OK, then_hangs=True)
    with receiver(hangs if rest == "hangs" else receivers.floods(receivers.OK, b"x" * 65536)) as one:
        outcome, took = tried(one.url, deadline=5)
    assert outcome.status == 200
    assert outcome.duration_ms < 200
    assert took < 0.5


def test_a_receiver_can_finish_its_answer(private: None) -> None:
    finished: list[bytes] = []

    def behave(connection: socket.socket, where: Receiver) -> None:
        receivers.read_request(connection)
        for piece in (b"HTTP/1.1 200 OK\r\n", b"Content-Length: 2\r\n\r\n", b"ok"):
            connection.sendall(piece)
            time.sleep(0.03)
        connection.shutdown(socket.SHUT_WR)
        finished.append(connection.recv(1))  # a sender that closed with unread bytes would reset the connection

    with receiver(behave) as one:
        outcome, _ = tried(one.url)
        time.sleep(0.05)
    assert outcome.status == 200
    assert finished == [b""]


# Hostile receivers

TOO_LONG = "Reading the response timed out."
HANGING: dict[str, tuple[Behaviour, str]] = {
    "never answers": (receivers.reads_and_hangs, TOO_LONG),
    "never reads": (receivers.hangs, "Sending the request timed out."),
    "reads a byte at a time": (receivers.reads_a_byte_at_a_time, "Sending the request timed out."),
    "drips a status line": (receivers.drips(b"HTTP/1.1 200 OK"), TOO_LONG),
    "drips interim headers": (receivers.drips(INTERIM), TOO_LONG),
    "stops in the status line": (receivers.answers(b"HTTP/1.1 200 OK", then_hangs=True), TOO_LONG),
    "stops after an interim answer": (receivers.answers(INTERIM, then_hangs=True), TOO_LONG),
    "stops in interim headers": (receivers.answers(INTERIM[:-2], then_hangs=True), TOO_LONG),
}


@one_of_each(lambda error: error)
@pytest.mark.parametrize(("behaviour", "error"), HANGING.values(), ids=HANGING)
def test_a_receiver_that_hangs_ends_with_the_deadline(behaviour: Behaviour, error: str, private: None) -> None:
    with receiver(behaviour) as one:
        outcome, took = tried(one.url, LARGE if error.startswith("Sending") else BODY)
    assert outcome[:2] == (None, error)
    assert took >= DEADLINE
    assert DEADLINE * 1000 - 1 <= outcome.duration_ms <= took * 1000 + 1


def test_a_receiver_that_accepts_no_connection_ends_with_the_deadline(private: None) -> None:
    with receiver(receivers.hangs, accepts=False) as one:
        outcome, took = tried(one.url)
    assert outcome[:2] == (None, "Connection timed out.")
    assert took >= DEADLINE


NOT_HTTP = "The response is not HTTP/1.1."
NO_ANSWER = "The receiver closed the connection without a response."
RESET = "Reading the response failed: connection reset by peer."
# Races: an early end of the connection may be noticed at an earlier step.
EARLY = {NO_ANSWER: {NO_ANSWER, RESET}, RESET: {RESET, RESET.replace("Reading the response", "Connection")}}
TOO_MUCH = "The receiver sent more than 256 KiB."
MISBEHAVING: dict[str, tuple[Behaviour, str]] = {
    "floods headers": (receivers.floods(INTERIM[:-2], b"X-More: and more\r\n"), TOO_MUCH),
    "floods interim answers": (receivers.floods(b"", INTERIM), TOO_MUCH),
    "floods a line without end": (receivers.floods(b"HTTP/1.1 200 ", b"x" * 4096), NOT_HTTP),
    "floods empty lines": (receivers.floods(b"", b"\r\n" * 2048), NOT_HTTP),
    "closes at once": (lambda connection, where: None, NO_ANSWER),
    "closes after the request": (receivers.answers(), NO_ANSWER),
    "closes in the status line": (receivers.answers(b"HTTP/1.1 200 OK"), NO_ANSWER),
    "closes after an interim answer": (receivers.answers(INTERIM), NO_ANSWER),
    "resets at once": (receivers.resets_at_once, RESET),
    "resets at the first byte": (receivers.resets_at_a_byte, RESET),
    "resets after the request": (receivers.resets_after(b""), RESET),
    "resets in the status line": (receivers.resets_after(b"HTTP/1.1 200 O"), RESET),
    "is an SSH server": (receivers.answers(b"SSH-2.0-OpenSSH_9.6\r\n"), NOT_HTTP),
    "speaks HTTP/2": (receivers.answers(b"\x00\x00\x12\x04\x00\x00\x00\x00\x00\n"), NOT_HTTP),
    "speaks HTTP/0.9": (receivers.answers(b"<html>\n200 OK\n</html>"), NOT_HTTP),
    "speaks ICY": (receivers.answers(b"ICY 200 OK\r\n\r\n"), NOT_HTTP),
    "sends noise": (receivers.answers(bytes(range(256)) * 10), NOT_HTTP),
    "has a status of letters": (receivers.answers(b"HTTP/1.1 abc OK\r\n\r\n"), NOT_HTTP),
    "has a status of four digits": (receivers.answers(b"HTTP/1.1 2000 OK\r\n\r\n"), NOT_HTTP),
    "has a status of two digits": (receivers.answers(b"HTTP/1.1 20 OK\r\n\r\n"), NOT_HTTP),
    "has another 2": (receivers.answers("HTTP/1.1 ２00 OK\r\n\r\n".encode()), NOT_HTTP),
    "has a space in front": (receivers.answers(b" HTTP/1.1 200 OK\r\n\r\n"), NOT_HTTP),
}


@one_of_each(lambda error: error)
@pytest.mark.parametrize(("behaviour", "error"), MISBEHAVING.values(), ids=MISBEHAVING)
def test_a_misbehaving_receiver_ends_before_the_deadline(behaviour: Behaviour, error: str, private: None) -> None:
    with receiver(behaviour) as one:
        outcome, took = tried(one.url, deadline=5)
    assert outcome.error in EARLY.get(error, {error})
    assert outcome.status is None
    assert took < 2


def test_a_reset_while_sending_is_distinguished_from_a_close(private: None) -> None:
    with receiver(receivers.resets_at_a_byte) as one:
        outcome, _ = tried(one.url, LARGE, deadline=5)
    assert outcome[:2] == (None, RESET)


def test_a_port_without_a_listener_is_an_error(private: None) -> None:
    with receiver(receivers.hangs) as one:
        closed = one.url
    outcome, _ = tried(closed)
    assert outcome[:2] == (None, "Connection failed: connection refused.")


# TLS


def test_a_certificate_of_a_trusted_authority_is_accepted(
    private: None, trusted: None, certificates: Certificates, names: Callable[[Resolve], list[str]]
) -> None:
    tls, indicated = certificates.server(), []
    tls.sni_callback = lambda _, name, __: indicated.append(name)
    names(lambda _: ["127.0.0.1"])
    with receiver(receivers.acknowledges, tls=tls) as one:
        outcome, _ = tried(f"https://{HOST}:{one.port}/hook")
    assert outcome[:2] == (200, None)
    assert indicated == [HOST]
    assert f"Host: {HOST}:{one.port}\r\n".encode() in one.requests[0]


def test_a_certificate_for_an_address_is_accepted(private: None, trusted: None, certificates: Certificates) -> None:
    with receiver(receivers.acknowledges, tls=certificates.server()) as one:
        assert tried(one.url)[0].status == 200


FAILED = "TLS handshake failed: "
BAD = {
    "self-signed": FAILED + "self-signed certificate.",
    "expired": FAILED + "certificate has expired.",
    "not yet valid": FAILED + "certificate is not yet valid.",
    "wrong host": FAILED + "IP address mismatch, certificate is not valid for '127.0.0.1'.",
    "unknown authority": FAILED + "unable to get local issuer certificate.",
}


@pytest.mark.parametrize(("leaf", "error"), BAD.items(), ids=BAD)
def test_a_bad_certificate_gets_no_request(
    leaf: str, error: str, private: None, trusted: None, certificates: Certificates
) -> None:
    with receiver(receivers.acknowledges, tls=certificates.server(leaf)) as one:
        outcome, _ = tried(one.url)
    assert outcome[:2] == (None, error)
    assert one.requests == []


def test_the_authority_of_the_tests_is_not_trusted_by_default(private: None, certificates: Certificates) -> None:
    with receiver(receivers.acknowledges, tls=certificates.server()) as one:
        outcome, _ = tried(one.url, deadline=5)
    assert outcome[:2] == (None, BAD["unknown authority"])


@pytest.mark.parametrize("latest", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1], ids=["1.0", "1.1"])
def test_an_old_version_of_tls_is_refused(
    latest: ssl.TLSVersion, private: None, trusted: None, certificates: Certificates
) -> None:
    with receiver(receivers.acknowledges, tls=certificates.server(latest=latest)) as one:
        outcome, _ = tried(one.url)
    assert outcome.status is None
    assert outcome.error is not None
    assert outcome.error.startswith(FAILED)
    assert one.requests == []


BAD_TLS: dict[str, tuple[Behaviour, str]] = {
    "plain text": (receivers.speaks_plainly, FAILED),
    "an SSH banner": (lambda connection, _: connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n"), FAILED),
    "closing": (lambda connection, _: None, FAILED),
    "a reset": (receivers.resets_at_a_byte, FAILED),
    "silence": (receivers.hangs, "TLS handshake timed out."),
    "a flood": (receivers.floods_a_handshake, TOO_MUCH),
    "a dripped handshake": (receivers.drips_a_handshake, "TLS handshake timed out."),
}


@pytest.mark.parametrize(("behaviour", "error"), BAD_TLS.values(), ids=BAD_TLS)
def test_a_handshake_fails_when_the_server_answers_with(
    behaviour: Behaviour, error: str, private: None, trusted: None
) -> None:
    with receiver(behaviour) as one:
        outcome, _ = tried(one.url.replace("http:", "https:"))
    assert outcome.status is None
    assert outcome.error is not None
    assert outcome.error.startswith(error)


@one_of_each(lambda kind: HANGING[kind][1])
@pytest.mark.parametrize("kind", HANGING)
def test_a_receiver_that_hangs_behind_tls_ends_with_the_deadline(
    kind: str, private: None, trusted: None, certificates: Certificates
) -> None:
    behaviour, error = HANGING[kind]
    with receiver(behaviour, tls=certificates.server()) as one:
        outcome, _ = tried(one.url, LARGE if error.startswith("Sending") else BODY)
    assert outcome[:2] == (None, error)


@one_of_each(lambda kind: MISBEHAVING[kind][1])
@pytest.mark.parametrize("kind", MISBEHAVING)
def test_a_misbehaving_receiver_behind_tls_ends_before_the_deadline(
    kind: str, private: None, trusted: None, certificates: Certificates
) -> None:
    with receiver(MISBEHAVING[kind][0], tls=certificates.server()) as one:
        outcome, took = tried(one.url, deadline=5)
    assert outcome.status is None
    assert took < 2


def test_tls_records_without_data_are_limited(private: None, trusted: None, certificates: Certificates) -> None:
    with receiver(receivers.acknowledges, tls=certificates.server(tickets=1_000_000)) as one:
        outcome, took = tried(one.url, deadline=5)
    assert outcome[:2] == (None, TOO_MUCH)
    assert took < 2


def test_the_certificates_are_loaded_once_per_process(
    private: None, trusted: None, certificates: Certificates, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[ssl.SSLContext] = []
    real = ssl.create_default_context

    def slowly() -> ssl.SSLContext:
        time.sleep(0.05)
        read.append(real())
        return read[-1]

    monkeypatch.setattr(ssl, "create_default_context", slowly)
    with receiver(receivers.acknowledges, tls=certificates.server()) as one, ThreadPoolExecutor(20) as pool:
        outcomes = list(pool.map(lambda _: post(one.url, BODY, {}, 10), range(40)))
    assert {outcome.status for outcome in outcomes} == {200}
    assert len(read) == 1


def test_the_trust_store_is_the_systems_or_else_the_one_of_botocore(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, certificates: Certificates
) -> None:
    monkeypatch.setenv("SSL_CERT_DIR", str(tmp_path))
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.authority))
    assert connection.tls_context.__wrapped__().cert_store_stats()["x509_ca"] == 1
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "none.pem"))
    assert connection.tls_context.__wrapped__().cert_store_stats()["x509_ca"] > 100


# Addresses that must never be reached

SPELLINGS = (
    "127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0x7F.0.0.1", "0x7f.0x0.0x0.0x1",
    "0177.0.0.1", "017700000001", "0177.0.0.01", "127.0.0.1.", "１２７.０.０.１", "127。0。0。1", "①②⑦.⓪.⓪.①",
    "0", "0x0", "2852039166", "0xa9fea9fe", "0251.0376.0251.0376", "169.254.43518", "localhost", "LOCALHOST.",
    "[::]", "[::1]", "[0:0:0:0:0:0:0:1]", "[::127.0.0.1]", "[::ffff:127.0.0.1]", "[::FFFF:7f00:1]",
    "[0:0:0:0:0:ffff:a9fe:a9fe]", "[64:ff9b::a9fe:a9fe]", "[2002:7f00:1::]", "[fe80::1%25lo]",
    "%31%32%37.0.0.1", "hooks.cams.test@127.0.0.1", "127.0.0.1\\@hooks.cams.test", "127.0.0.1%00.cams.test",
)  # fmt: skip


def way_of_spelling(spelling: str) -> tuple[bool, ...]:
    """What is unusual about it."""
    signs = (spelling.startswith(sign) for sign in ("[", "0x", "0", "%", "hooks", "local"))
    return (*signs, spelling.isascii(), spelling.count(".") == 3, spelling.endswith("."))


@one_of_each(way_of_spelling)
@pytest.mark.parametrize("spelling", SPELLINGS, ids=ascii)
def test_no_spelling_of_a_private_address_opens_a_socket(spelling: str, watch: Watch) -> None:
    outcome, _ = tried(f"https://{spelling}:8443/", deadline=5)
    assert outcome.status is None
    assert outcome.error
    assert watch.sockets == 0


@pytest.mark.parametrize("spelling", [each for each in SPELLINGS if "localhost" not in each.lower()], ids=ascii)
@one_of_each(lambda: None)
def test_a_spelling_of_a_private_address_cannot_be_configured(spelling: str) -> None:
    assert check_url(f"https://{spelling}/")


def test_a_valid_url_can_be_configured() -> None:
    assert check_url("https://hooks.example.com/cams?tenant=1") is None


def test_plain_http_can_be_configured_only_with_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    assert check_url("http://127.0.0.1:8080/") == "must begin with https://"
    monkeypatch.setenv("CAMS_WEBHOOK_ALLOW_PRIVATE", "1")
    assert check_url("http://127.0.0.1:8080/") is None


# Without zones: DNS answers have none.
RESOLVED = [address for address in ADDRESSES if "%" not in address]


@one_of_each(lambda address: ":" in address)
@pytest.mark.parametrize("address", RESOLVED)
def test_a_name_that_resolves_to_a_private_address_opens_no_socket(
    address: str, watch: Watch, names: Callable[[Resolve], list[str]]
) -> None:
    asked = names(lambda _: [address])
    outcome, _ = tried(f"https://{HOST}/")
    assert outcome[:2] == (None, "The host resolves to an address that is not public.")
    assert asked == [HOST]
    assert watch.sockets == 0


@one_of_each(lambda address: ":" in address)
@pytest.mark.parametrize("address", RESOLVED)
def test_a_private_address_in_a_url_opens_no_socket(address: str, watch: Watch) -> None:
    outcome, _ = tried(f"https://[{address}]/" if ":" in address else f"https://{address}/")
    assert outcome[:2] == (None, "The URL must have a public address.")
    assert watch.sockets == 0


MIXED = {
    "first": ["127.0.0.1", "93.184.216.34"],
    "last": ["93.184.216.34", "2606:4700:4700::1111", "10.0.0.1"],
    "of the other family": ["93.184.216.34", "::1"],
    "after those that are tried": [*(f"93.184.216.{last}" for last in range(34, 44)), "169.254.169.254"],
}


@pytest.mark.parametrize("addresses", MIXED.values(), ids=MIXED)
def test_one_private_address_among_public_ones_blocks_the_host(
    addresses: list[str], watch: Watch, names: Callable[[Resolve], list[str]]
) -> None:
    names(lambda _: addresses)
    outcome, _ = tried(f"https://{HOST}/")
    assert outcome[:2] == (None, "The host resolves to an address that is not public.")
    assert watch.sockets == 0


def test_a_name_is_not_resolved_again_after_the_check(watch: Watch, names: Callable[[Resolve], list[str]]) -> None:
    watch.refuse = True  # nothing leaves this machine
    with receiver(receivers.acknowledges) as inside:
        asked = names(lambda _: ["93.184.216.34"] if len(asked) == 1 else ["127.0.0.1"])
        outcome, _ = tried(f"https://{HOST}:{inside.port}/")
    assert outcome.error is not None
    assert outcome.error.startswith("Connection failed")
    assert asked == [HOST]
    assert watch.connects == [("93.184.216.34", inside.port)]
    assert inside.connections == 0


# Names and addresses


@pytest.fixture
def day(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """A stopped wall clock: [milliseconds]."""
    now = [1_795_228_530_123]
    monkeypatch.setattr(clock, "milliseconds", lambda: now[0])
    return now


@pytest.mark.parametrize(("later", "asked_for"), {0: 1, 999: 1, 1000: 2, -1: 2}.items())
def test_a_dns_answer_is_cached_for_a_second(
    later: int, asked_for: int, private: None, day: list[int], names: Callable[[Resolve], list[str]]
) -> None:
    asked = names(lambda _: ["127.0.0.1"])
    with receiver(receivers.acknowledges) as one:
        for _ in range(2):
            assert tried(f"http://{HOST}:{one.port}/")[0].status == 200
            day[0] += later
        assert one.connections == 2
    assert len(asked) == asked_for


def test_a_cached_dns_answer_is_checked_for_each_delivery(
    private: None, day: list[int], names: Callable[[Resolve], list[str]], watch: Watch, monkeypatch: pytest.MonkeyPatch
) -> None:
    watch.refuse = True
    asked = names(lambda _: ["127.0.0.1"])
    assert tried(f"https://{HOST}/")[0].error == "Connection failed: connectionrefusederror."
    monkeypatch.delenv("CAMS_WEBHOOK_ALLOW_PRIVATE")
    assert tried(f"https://{HOST}/")[0].error == "The host resolves to an address that is not public."
    assert asked == [HOST]
    assert len(watch.connects) == 1


def test_a_failed_lookup_is_not_cached(private: None, day: list[int], names: Callable[[Resolve], list[str]]) -> None:
    def unknown_at_first(_: str) -> list[str]:
        if len(asked) == 1:
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return ["127.0.0.1"]

    asked = names(unknown_at_first)
    with receiver(receivers.acknowledges) as one:
        assert [tried(f"http://{HOST}:{one.port}/")[0].status for _ in range(2)] == [None, 200]


def test_the_number_of_cached_hosts_is_bounded(
    private: None, watch: Watch, names: Callable[[Resolve], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    watch.refuse = True
    monkeypatch.setattr(lookups, "_MAX_CACHED", 8)
    names(lambda _: ["127.0.0.1"])
    for number in range(20):
        tried(f"https://{number}.cams.test/")
        assert len(lookups.cache) <= 8


def test_the_next_address_is_tried_when_one_refuses_the_connection(
    private: None, watch: Watch, names: Callable[[Resolve], list[str]]
) -> None:
    names(lambda _: ["127.0.0.2", "127.0.0.3", "127.0.0.1"])
    with receiver(receivers.acknowledges) as one:
        outcome, _ = tried(f"http://{HOST}:{one.port}/")
    assert outcome.status == 200
    assert [address for address, _ in watch.connects] == ["127.0.0.2", "127.0.0.3", "127.0.0.1"]


def test_an_address_that_hangs_leaves_time_for_the_next(
    private: None, names: Callable[[Resolve], list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    with receiver(receivers.hangs, accepts=False) as hanging, receiver(receivers.acknowledges) as one:
        both = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", each.port)) for each in (hanging, one)]
        monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: both)
        outcome, took = tried(f"http://{HOST}/")
    assert outcome.status == 200
    assert took >= DEADLINE / 2


def test_a_failure_after_the_connection_is_final(
    private: None, watch: Watch, names: Callable[[Resolve], list[str]]
) -> None:
    names(lambda _: ["127.0.0.1", "127.0.0.1"])
    with receiver(receivers.answers()) as one:
        outcome, _ = tried(f"http://{HOST}:{one.port}/")
    assert outcome.error == NO_ANSWER
    assert len(watch.connects) == 1


def test_no_more_than_four_addresses_are_tried(
    private: None, watch: Watch, names: Callable[[Resolve], list[str]]
) -> None:
    names(lambda _: [f"127.0.0.{last}" for last in range(2, 12)])
    with receiver(receivers.hangs) as one:
        outcome, _ = tried(f"http://{HOST}:{one.port}/")
    assert outcome.error == "Connection failed: connection refused."
    assert len(watch.connects) == 4


def test_an_unknown_name_is_an_error(names: Callable[[Resolve], list[str]], watch: Watch) -> None:
    def unknown(_: str) -> list[str]:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    names(unknown)
    outcome, _ = tried(f"https://{HOST}/")
    assert outcome[:2] == (None, "DNS lookup failed: name or service not known.")
    assert watch.sockets == 0


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
        outcome, _ = tried(one.url)
    assert outcome.status == 200
    assert f"Host: [::1]:{one.port}\r\n".encode() in one.requests[0]


@pytest.fixture
def stuck(names: Callable[[Resolve], list[str]]) -> Iterator[list[str]]:
    """Name servers that hang until the test ends, except for two hosts; returns the names that were looked up."""
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
    """Count the lookup threads, idle ones included."""
    return sum(thread.name == "lookup" for thread in threading.enumerate())


def test_a_name_server_that_hangs_ends_with_the_deadline(private: None, stuck: list[str]) -> None:
    outcome, took = tried(f"http://{HOST}/")
    assert outcome[:2] == (None, "DNS lookup timed out.")
    assert took >= DEADLINE


def test_deliveries_to_one_hanging_host_share_a_lookup_thread(private: None, stuck: list[str]) -> None:
    with receiver(receivers.acknowledges) as one, ThreadPoolExecutor(100) as pool:
        hanging = [pool.submit(tried, f"http://{HOST}/") for _ in range(99)]
        outcome, took = tried(f"http://good.test:{one.port}/")
        assert {each.result()[0].status for each in hanging} == {None}
    assert outcome.status == 200
    assert took < DEADLINE
    assert sorted(stuck) == ["good.test", HOST]


def test_hanging_hosts_use_a_bounded_number_of_threads(private: None, stuck: list[str]) -> None:
    before = threading.active_count() - looking_up()
    with ThreadPoolExecutor(100) as pool:
        hanging = [pool.submit(tried, f"http://{number}.cams.test/") for number in range(100)]
        latest = time.monotonic() + 10 * DEADLINE  # a loaded machine starts threads slowly
        while looking_up() < lookups.MAX_LOOKUPS and time.monotonic() < latest:
            time.sleep(DEADLINE / 20)
        during = threading.active_count()
        assert looking_up() == lookups.MAX_LOOKUPS
        assert {each.result()[0].error for each in hanging} == {"DNS lookup timed out."}
    sys.stdout.write(f"{during - before} threads for 100 deliveries, {len(stuck)} names asked for\n")
    assert during - before == 100 + lookups.MAX_LOOKUPS
    assert len(stuck) == lookups.MAX_LOOKUPS


def test_a_lookup_that_is_already_running_needs_no_free_slot(private: None, stuck: list[str]) -> None:
    with receiver(receivers.acknowledges) as one, ThreadPoolExecutor(100) as pool:
        for number in range(lookups.MAX_LOOKUPS - 1):
            pool.submit(tried, f"http://{number}.cams.test/")
        # A long deadline, because a loaded machine starts so many threads slowly. The other lookups hang longer.
        slow = [pool.submit(tried, f"http://slow.test:{one.port}/", BODY, 10 * DEADLINE) for _ in range(20)]
        assert {each.result()[0].status for each in slow} == {200}
    assert stuck.count("slow.test") == 1


def test_running_out_of_threads_fails_only_that_delivery(private: None, monkeypatch: pytest.MonkeyPatch) -> None:
    def none_left(_: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with receiver(receivers.acknowledges) as one:
        with monkeypatch.context() as full:
            full.setattr(threading.Thread, "start", none_left)
            full.setattr(lookups, "_idle", 0)
            assert tried(one.url)[0].error == "DNS lookup failed: no thread is available."
        assert tried(one.url)[0].status == 200


def test_a_free_slot_goes_to_a_waiting_lookup(private: None, names: Callable[[Resolve], list[str]]) -> None:
    asked = names(lambda _: time.sleep(0.02) or ["127.0.0.1"])  # type: ignore[func-returns-value]
    with receiver(receivers.acknowledges) as one, ThreadPoolExecutor(300) as pool:
        urls = [f"http://{number % 200}.cams.test:{one.port}/" for number in range(300)]
        outcomes = list(pool.map(partial(post, body=BODY, headers={}, deadline_seconds=10), urls))
    assert {outcome.status for outcome in outcomes} == {200}
    assert max(outcome.duration_ms for outcome in outcomes) < 2000
    assert 200 <= len(asked) <= 300


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
            assert reached.acquire(timeout=5)  # its lookup runs, or waits in this order
        answered["first.test"].set()
        answered["second.test"].set()  # two free slots; the first waiters share one
        assert last.result()
        assert ("slow.test", 80) in lookups.in_flight
        answered["slow.test"].set()


# Concurrency


def test_five_hundred_deliveries_meet_the_deadline_while_half_of_them_hang(private: None) -> None:
    deadline, calls = 1.5, 500
    command = [sys.executable, "-m", "tests.webhooks.receivers"]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        url = f"http://127.0.0.1:{process.stdout.readline().strip()}/"
        took: list[tuple[float, int | None]] = []

        def one() -> None:
            start = time.monotonic()
            outcome = post(url, BODY, HEADERS, deadline)
            took.append((time.monotonic() - start, outcome.status))

        threads = [threading.Thread(target=one) for _ in range(calls)]
        before = resource.getrusage(resource.RUSAGE_SELF)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        after = resource.getrusage(resource.RUSAGE_SELF)
        process.kill()
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    acknowledged = sum(status == 200 for _, status in took)
    latest = max(seconds for seconds, _ in took)
    sys.stdout.write(
        f"{acknowledged} acknowledged, the last of {calls} ended after {latest:.3f} s, {cpu:.2f} s of CPU\n"
    )
    assert acknowledged == calls / 2
    assert latest <= deadline + SLACK
    assert cpu < 2
