"""A tenant with very many conversations: the rows that the service stores, many in one request.

Nothing here knows what a row looks like: `conversations.store` makes each of them as it always does, and what it would
send as a transaction of its own is collected. The newest are really created one by one, so that the agent's sequence
is what it would be, too. Contents, ids and times follow from the numbers alone.
"""

import logging
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest import mock

from botocore.config import Config

from chalicelib import clock, ids, storage
from chalicelib.agents import store as agents
from chalicelib.conversations import store
from chalicelib.conversations.state import State, empty
from chalicelib.http import auth
from chalicelib.storage import Document, client, keyring, sequence
from chalicelib.workspaces import store as workspaces
from infra import tables
from infra.local import children
from tests.api import Api

AGENT = "support"
_FIRST_MILLISECONDS = 1_780_000_000_000
_NOW_MILLISECONDS = 1_795_000_000_000
_MINUTE = 60_000
# More than the sequence remembers by id: the last ones before a number is taken the usual way.
_CREATED = 33
_TOGETHER = 250
_WRITERS = 2
# The local engine looks at every entry of an index, a cloud's does not: the service's own patience ends too soon.
_PATIENCE_SECONDS = 120
_NAMES = ("Ann", "Bo", "Chidi", "Dana", "Eva", "Farid", "Gita", "Hugo", "Ines", "Jun")


class Tenant(NamedTuple):
    """A workspace with one agent, and the API called with its key."""

    workspace_id: str
    api: Api

    @property
    def agent(self) -> str:
        """The partition of what belongs to the agent."""
        return storage.key(self.workspace_id, AGENT)


@contextmanager
def service(engine_url: str) -> Iterator[Tenant]:
    """The service in this process, on the engine at this address, with a new tenant; it logs nothing.

    Its clock stands still: times are stored compressed, so that others would be longer or shorter by a byte.
    """
    still = mock.patch.object(clock, "milliseconds", lambda: _NOW_MILLISECONDS)
    with still, mock.patch.dict(os.environ, children.address_of(engine_url)):
        with mock.patch.object(client, "Config", _patient):
            _connect()
        logging.disable(logging.INFO)
        try:
            tables.create_missing(storage.sdk_client)
            yield tenant()
        finally:
            logging.disable(logging.NOTSET)
    _connect()


def _patient(**settings: Any) -> Config:
    return Config(**{**settings, "read_timeout": _PATIENCE_SECONDS})


def _connect() -> None:
    """Forget whatever engine the process knows, and what it remembers of it."""
    client.sdk_client.cache_clear()
    client.connection._client = client.sdk_client("dynamodb") if "AWS_DEFAULT_REGION" in os.environ else None
    for row in _row_classes(storage.Row):
        row._connection = None
    auth.clear_cache()
    agents._known_agents.clear()
    keyring.current.cache_clear()
    keyring.find.cache_clear()


def _row_classes(kind: type[storage.Row]) -> Iterator[type[storage.Row]]:
    for row in kind.__subclasses__():
        yield row
        yield from _row_classes(row)


def tenant() -> Tenant:
    """A new workspace with the agent `support`, on the engine that the process is connected with."""
    new = workspaces.create("Benchmark", key_lifetime=None)
    api = Api(new.workspace_key)
    api.post(f"/v2/agents/{AGENT}", {"title": "Support"})
    return Tenant(new.workspace_id, api)


def conversation_id(number: int) -> str:
    """The id of a conversation; as long as the service's own, and like those they sort by time."""
    return ids.id_at(_FIRST_MILLISECONDS + number * _MINUTE, number * 0x9E3779B97F4A7C15 % 2**80)


def metadata(number: int) -> Document:
    """What the list shows of a conversation: who it was with, where, when, how long. About 250 bytes of JSON."""
    last = _FIRST_MILLISECONDS // 1000 + number * _MINUTE // 1000
    counted = {"messagesNum": 2 + number % 40, "interactionsNum": 1 + number % 20}
    times = {"ts": last - 600, "firstMessageTS": last - 590, "lastMessageTS": last, "lastModified": last}
    about = {"userName": f"{_NAMES[number % len(_NAMES)]} {number}", "origin": "web-chat"}
    return {**empty(conversation_id(number)).metadata, **counted, **times, **about}


def fill(to: Tenant, count: int) -> None:
    """Store conversations until the agent has `count`, the newest last. The agent may have been used meanwhile."""
    last = sequence_of(to)
    missing = count - sequence.count(last)
    high = int(last.high) + missing
    store_only(to, range(int(last.high) + 1, high - _CREATED + 1))
    last.high = max(int(last.high), high - _CREATED)
    storage.save(last)
    for number in range(int(last.high) + 1, high + 1):
        _create(to, number, sequence_of(to))


def store_only(to: Tenant, numbers: Sequence[int]) -> None:
    """Store the conversations with these numbers, and leave the agent's sequence as it is."""
    with ThreadPoolExecutor(_WRITERS) as pool:
        saved = [pool.submit(storage.save_many, rows) for rows in _rows_of(to, numbers)]
    for one in saved:
        one.result()


def _rows_of(to: Tenant, numbers: Sequence[int]) -> Iterator[list[storage.Row]]:
    for start in range(0, len(numbers), _TOGETHER):
        with _collected() as rows:
            for number in numbers[start : start + _TOGETHER]:
                _create(to, number, sequence.SequenceRow(to.agent, high=number - 1))
        yield rows


def sequence_of(tenant: Tenant) -> sequence.SequenceRow:
    """The sequence row of the tenant's agent."""
    found = sequence.find(tenant.workspace_id, AGENT)
    if found is None:
        raise LookupError("the tenant's agent is gone")
    return found


def _create(to: Tenant, number: int, last: sequence.SequenceRow) -> None:
    state = State(metadata(number), b"[]")
    store.create(to.workspace_id, AGENT, conversation_id(number), state, last)


@contextmanager
def _collected() -> Iterator[list[Any]]:
    """Inside the block transactions are not sent: the rows that they would have put."""
    collector = _Collector()

    def collect(*steps: storage.Step) -> bool:
        for step in steps:
            step(collector)  # type: ignore[arg-type]
        return True

    with mock.patch.object(storage, "transact", collect):
        yield collector.rows


class _Collector:
    """In the place of a transaction."""

    def __init__(self) -> None:
        self.rows: list[storage.Row] = []

    def save(self, row: storage.Row, condition: object, return_values: object) -> None:
        """A put; a transaction counts the version itself, a batch does not."""
        if isinstance(row, storage.VersionedRow):
            row.version = 1
        self.rows.append(row)

    def update(self, row: storage.Row, actions: object, condition: object, return_values: object) -> None:
        """The taking of the next number: the caller of `store_only` sees to the sequence."""
