"""Create a tenant with very many conversations, writing many rows in one request.

`conversations.store` builds each row as usual, in a unit of work that is discarded; this module writes the rows in
batches. Contents, ids and times follow from the numbers alone.
"""

import json
import logging
import os
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple
from unittest import mock

from botocore.config import Config

from chalicelib import clock, ids, storage
from chalicelib.agents import store as agents
from chalicelib.conversations import page_position, store, tallies
from chalicelib.conversations.state import State, empty
from chalicelib.http import auth
from chalicelib.storage import Document, client, keyring
from chalicelib.workspaces import store as workspaces
from infra import tables
from infra.local.children import Engine
from tests.api import Api

AGENT = "support"
FIRST_MILLISECONDS = 1_780_000_000_000
_NOW_MILLISECONDS = 1_795_000_000_000
_MINUTE = 60_000
_ROWS_PER_BATCH = 250
_WRITERS = 2
# The local engine scans every entry of an index, so the service's own timeout is too short.
_TIMEOUT_SECONDS = 120
_NAMES = ("Ann", "Bo", "Chidi", "Dana", "Eva", "Farid", "Gita", "Hugo", "Ines", "Jun")


class Tenant(NamedTuple):
    """A workspace with one agent, and an API client with its key."""

    workspace_id: str
    api: Api

    @property
    def agent(self) -> str:
        """The partition key of the agent's records."""
        return storage.key(self.workspace_id, AGENT)


@contextmanager
def service(engine: Engine) -> Iterator[Tenant]:
    """Run the service in this process on the given engine, without logs, and yield a new tenant.

    The clock is fixed, because times are stored compressed: another time can change a document's size by a byte.
    """
    fixed_time = mock.patch.object(clock, "milliseconds", lambda: _NOW_MILLISECONDS)
    with fixed_time, mock.patch.dict(os.environ, engine.address):
        with mock.patch.object(client, "Config", _with_long_timeout):
            _connect()
        logging.disable(logging.INFO)
        try:
            tables.create_missing(storage.sdk_client)
            yield tenant()
        finally:
            logging.disable(logging.NOTSET)
    _connect()


def _with_long_timeout(**settings: Any) -> Config:
    return Config(**{**settings, "read_timeout": _TIMEOUT_SECONDS})


def _connect() -> None:
    """Reset the process's connection and its caches, including the credentials."""
    client._session._credentials = None
    client.sdk_client.cache_clear()
    client.connection._client = client.sdk_client("dynamodb") if "AWS_DEFAULT_REGION" in os.environ else None
    for row in _row_classes(storage.Row):
        row._connection = None
    auth.clear_cache()
    agents._known_agents.clear()
    workspaces._known_retention.clear()
    keyring.current.cache_clear()
    keyring.find.cache_clear()


def _row_classes(kind: type[storage.Row]) -> Iterator[type[storage.Row]]:
    for row in kind.__subclasses__():
        yield row
        yield from _row_classes(row)


def tenant() -> Tenant:
    """Create a workspace with the agent `support` on the connected engine."""
    new = workspaces.create("Benchmark", key_lifetime=None)
    api = Api(new.workspace_key)
    api.post(f"/v2/agents/{AGENT}", {"title": "Support"})
    return Tenant(new.workspace_id, api)


def conversation_id(number: int) -> str:
    """Return a conversation's id: as long as the service's own, and sorted by time like them."""
    return ids.id_at(FIRST_MILLISECONDS + number * _MINUTE, number * 0x9E3779B97F4A7C15 % 2**80)


def metadata(number: int) -> Document:
    """Return the metadata that a list shows: user, origin, times and counts. About 250 bytes of JSON."""
    last = FIRST_MILLISECONDS // 1000 + number * _MINUTE // 1000
    counted = {"messagesNum": 2 + number % 40, "interactionsNum": 1 + number % 20}
    times = {"ts": last - 600, "firstMessageTS": last - 590, "lastMessageTS": last, "lastModified": last}
    about = {"userName": f"{_NAMES[number % len(_NAMES)]} {number}", "origin": "web-chat"}
    return {**empty(conversation_id(number)).metadata, **counted, **times, **about}


def fill(to: Tenant, numbers: Sequence[int]) -> None:
    """Store the conversations with these numbers."""
    with ThreadPoolExecutor(_WRITERS) as pool:
        saved = [pool.submit(storage.save_many, rows) for rows in _rows_of(to, numbers)]
    for one in saved:
        one.result()


def remove(to: Tenant, numbers: Sequence[int]) -> None:
    """Delete the stored conversations with these numbers. They have no other items than their own."""
    keys = [store.key(to.workspace_id, AGENT, conversation_id(number)) for number in numbers]
    storage.delete_many([key.row(key.partition, key.sort) for key in keys])


def tally(to: Tenant, numbers: Iterable[int]) -> None:
    """Replace the tallies by those of a tenant that has the conversations with these numbers."""
    counts: defaultdict[tuple[str, str], Counter[int]] = defaultdict(Counter)
    for quarter in (page_position.quarter_of(conversation_id(number)) for number in numbers):
        counts[tallies._DAY, quarter.day][quarter.number] += 1
        counts[tallies._MONTH, quarter.month][quarter.day_number] += 1
    lengths = {tallies._DAY: page_position.QUARTERS, tallies._MONTH: tallies._DAYS}
    storage.delete_many(tallies.list_by_creation(to.workspace_id, AGENT, 1_000))
    with storage.unit_of_work() as unit:
        rows = [
            tallies.TallyRow(
                to.agent,
                tallies._period(kind, period),
                counts=json.dumps([counted[number] for number in range(lengths[kind])]),
            )
            for (kind, period), counted in counts.items()
        ]
        for row in rows:
            storage.put(row)
        unit.discard()  # which gives each row its version, as in `_rows_of`
    storage.save_many(rows)


def _rows_of(to: Tenant, numbers: Sequence[int]) -> Iterator[list[store.ConversationRow]]:
    for start in range(0, len(numbers), _ROWS_PER_BATCH):
        with storage.unit_of_work() as unit:
            rows = [_row_of(to, number) for number in numbers[start : start + _ROWS_PER_BATCH]]
            unit.discard()  # `fill` writes the rows
        yield rows


def _row_of(to: Tenant, number: int) -> store.ConversationRow:
    state = State(metadata(number), b"[]")
    row = store.create(to.workspace_id, AGENT, conversation_id(number), state)
    row.created = conversation_id(number)
    return row
