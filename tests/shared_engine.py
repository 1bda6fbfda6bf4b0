"""One engine for many tests, for modules whose tests only read from a shared service."""

from collections.abc import Iterator
from contextlib import contextmanager

from moto import mock_aws

from chalicelib import settings, storage
from infra import tables
from tests.conftest import clear_caches


@contextmanager
def shared_engine() -> Iterator[None]:
    """An empty engine with the template's resources, inside the block."""
    with mock_aws():
        clear_caches()
        tables.create_missing(storage.sdk_client, settings.table_prefix())
        yield
        clear_caches()
