"""One engine for many tests: for modules whose tests look at one service and leave it as it is."""

from collections.abc import Iterator
from contextlib import contextmanager

from moto import mock_aws

from chalicelib import settings, storage
from infra import tables
from tests.conftest import forget


@contextmanager
def shared_engine() -> Iterator[None]:
    """An empty engine with the resources of the template, as long as the block goes on."""
    with mock_aws():
        forget()
        tables.create_missing(storage.sdk_client, settings.table_prefix())
        yield
        forget()
