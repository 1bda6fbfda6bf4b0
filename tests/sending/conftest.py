"""The certificate authority for the TLS tests."""

from collections.abc import Iterator

import pytest

from chalicelib.sending import connection
from tests.sending import receivers
from tests.sending.receivers import Certificates
from tests.sending.timed_post import HOST


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return receivers.certificates(tmp_path_factory.mktemp("certificates"), HOST)


@pytest.fixture
def trusted(certificates: Certificates, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Trust only the tests' certificate authority."""
    monkeypatch.setenv("SSL_CERT_FILE", str(certificates.authority))
    connection.tls_context.cache_clear()
    yield
    connection.tls_context.cache_clear()
