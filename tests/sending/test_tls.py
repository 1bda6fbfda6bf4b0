"""TLS: certificates, versions, the trust store, and receivers that are hostile during or after the handshake."""

import ssl
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from chalicelib.sending import connection
from chalicelib.sending.sender import post
from tests.selection import one_of_each
from tests.sending import receivers
from tests.sending.hostile_receivers import HANGING, MISBEHAVING, TOO_MUCH
from tests.sending.receivers import Behaviour, Certificates, receiver
from tests.sending.sockets import Resolve
from tests.sending.timed_post import BODY, HOST, LARGE, post_and_check

pytestmark = pytest.mark.usefixtures("public_only", "empty_cache")


def test_a_certificate_of_a_trusted_authority_is_accepted(
    private: None, trusted: None, certificates: Certificates, names: Callable[[Resolve], list[str]]
) -> None:
    tls, indicated = certificates.server(), []
    tls.sni_callback = lambda _, name, __: indicated.append(name)
    names(lambda _: ["127.0.0.1"])
    with receiver(receivers.acknowledges, tls=tls) as endpoint:
        outcome, _ = post_and_check(f"https://{HOST}:{endpoint.port}/hook")
    assert outcome[:2] == (200, None)
    assert indicated == [HOST]
    assert f"Host: {HOST}:{endpoint.port}\r\n".encode() in endpoint.requests[0]


def test_a_certificate_for_an_address_is_accepted(private: None, trusted: None, certificates: Certificates) -> None:
    with receiver(receivers.acknowledges, tls=certificates.server()) as one:
        assert post_and_check(one.url)[0].status == 200


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
        outcome, _ = post_and_check(one.url)
    assert outcome[:2] == (None, error)
    assert one.requests == []


def test_the_authority_of_the_tests_is_not_trusted_by_default(private: None, certificates: Certificates) -> None:
    with receiver(receivers.acknowledges, tls=certificates.server()) as one:
        outcome, _ = post_and_check(one.url, deadline=5)
    assert outcome[:2] == (None, BAD["unknown authority"])


@pytest.mark.parametrize("latest", [ssl.TLSVersion.TLSv1, ssl.TLSVersion.TLSv1_1], ids=["1.0", "1.1"])
def test_an_old_version_of_tls_is_refused(
    latest: ssl.TLSVersion, private: None, trusted: None, certificates: Certificates
) -> None:
    with receiver(receivers.acknowledges, tls=certificates.server(latest=latest)) as endpoint:
        outcome, _ = post_and_check(endpoint.url)
    assert outcome.status is None
    assert outcome.error is not None
    assert outcome.error.startswith(FAILED)
    assert endpoint.requests == []


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
        outcome, _ = post_and_check(one.url.replace("http:", "https:"))
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
        outcome, _ = post_and_check(one.url, LARGE if error.startswith("Sending") else BODY)
    assert outcome[:2] == (None, error)


@one_of_each(lambda kind: MISBEHAVING[kind][1])
@pytest.mark.parametrize("kind", MISBEHAVING)
def test_a_misbehaving_receiver_behind_tls_ends_before_the_deadline(
    kind: str, private: None, trusted: None, certificates: Certificates
) -> None:
    with receiver(MISBEHAVING[kind][0], tls=certificates.server()) as one:
        outcome, took = post_and_check(one.url, deadline=5)
    assert outcome.status is None
    assert took < 2


def test_tls_records_without_data_are_limited(private: None, trusted: None, certificates: Certificates) -> None:
    with receiver(receivers.acknowledges, tls=certificates.server(tickets=1_000_000)) as one:
        outcome, took = post_and_check(one.url, deadline=5)
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
