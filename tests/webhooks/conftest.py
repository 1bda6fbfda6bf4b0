"""Fixtures of the pipeline: private receivers are allowed, and streams and queues start empty.

The sender's tests use none of these, but an authority of their own for TLS.
"""

from collections.abc import Callable, Iterator

import pytest

from chalicelib import clock
from chalicelib.sending import connection
from chalicelib.webhooks import hosts
from tests.webhooks import pipeline, receivers
from tests.webhooks.crashes import make_atomic
from tests.webhooks.receivers import Certificates
from tests.webhooks.sending import HOST


@pytest.fixture
def stream(engine: None, monkeypatch: pytest.MonkeyPatch) -> pipeline.Stream:
    """The streams, from this moment on. A new receiver counts as quick, so its deliveries use the fast queue."""
    monkeypatch.setenv("CAMS_WEBHOOK_ALLOW_PRIVATE", "1")
    monkeypatch.setattr(hosts, "NEW", pipeline.QUICK)
    make_atomic(monkeypatch.setattr)
    return pipeline.Stream()


@pytest.fixture
def inbox() -> Iterator[pipeline.Inbox]:
    """A receiver that acknowledges everything."""
    with pipeline.inbox() as running:
        yield running


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Advance the clock by a number of seconds."""
    real, offset = clock.milliseconds, [0]

    def advance(seconds: int) -> None:
        offset[0] += seconds * 1000
        monkeypatch.setattr(clock, "milliseconds", lambda: real() + offset[0])

    return advance


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
