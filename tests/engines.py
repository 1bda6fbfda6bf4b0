"""Functions that create or empty an engine for a test."""

from collections.abc import Iterator
from contextlib import contextmanager

from moto import mock_aws
from moto.sqs.models import sqs_backends

from chalicelib import queues, settings, storage
from chalicelib.agents import store as agents
from chalicelib.http import auth
from chalicelib.queues import shared_messages
from chalicelib.storage import keyring
from chalicelib.workspaces import store as workspaces
from infra import tables
from tests import extensions, moto_tables


@contextmanager
def new_engine() -> Iterator[None]:
    """Run a new engine with the template's resources for the duration of the block."""
    with mock_aws():
        create_resources()
        clear()  # inside another engine, the tables already exist
        yield
        clear_caches()


def create_resources() -> None:
    """Create the tables and queues of the template."""
    tables.create_missing(storage.sdk_client, settings.table_prefix())


def clear() -> None:
    """Empty all tables, streams and queues, and clear all caches."""
    clear_caches()
    for table in moto_tables.tables().values():
        table.items.clear()
    moto_tables.drop_history()
    waiting = sqs_backends["123456789012"]["eu-west-1"]
    for queue in waiting.queues:
        waiting.purge_queue(queue)


def clear_caches() -> None:
    """Clear every cache that a process keeps across requests."""
    auth.clear_cache()
    agents._known_agents.clear()
    workspaces._known_retention.clear()
    keyring.current.cache_clear()
    keyring.find.cache_clear()
    queues._url.cache_clear()
    shared_messages._sent.clear()
    extensions.call("clear_caches")
