"""Tenants with many conversations, which are written in batches.

`conversations.store` builds each row as usual, in a unit of work that is discarded; this module writes the rows in
batches. The contents, ids and times of conversations depend only on their numbers.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from chalicelib import ids, storage
from chalicelib.conversations import page_position, store, tallies
from chalicelib.conversations.state import State, empty_state
from chalicelib.storage import Document
from chalicelib.workspaces import store as workspaces
from tests.api import Api

AGENT = "support"
FIRST_MILLISECONDS = 1_780_000_000_000
_MINUTE = 60_000
_ROWS_PER_BATCH = 250
_NAMES = ("Ann", "Bo", "Chidi", "Dana", "Eva", "Farid", "Gita", "Hugo", "Ines", "Jun")


class Tenant(NamedTuple):
    """A workspace with one agent, and an API client with its key."""

    workspace_id: str
    api: Api

    @property
    def agent(self) -> str:
        """The partition key of the agent's records."""
        return storage.join_key(self.workspace_id, AGENT)


def tenant() -> Tenant:
    """Create a workspace with the agent `support` on the connected engine."""
    new = workspaces.create("Benchmark", key_lifetime=None)
    api = Api(new.workspace_key)
    api.post(f"/v2/agents/{AGENT}", {"title": "Support"})
    return Tenant(new.workspace_id, api)


def conversation_id(number: int) -> str:
    """Return the id of a conversation. Its length and its order by time equal those of the service's ids."""
    return ids.id_at(FIRST_MILLISECONDS + number * _MINUTE, number * 0x9E3779B97F4A7C15 % 2**80)


def metadata(number: int) -> Document:
    """Return the metadata in a list: user, origin, times and counts. It takes about 250 bytes of JSON."""
    last = FIRST_MILLISECONDS // 1000 + number * _MINUTE // 1000
    counted = {"messagesNum": 2 + number % 40, "interactionsNum": 1 + number % 20}
    times = {"ts": last - 600, "firstMessageTS": last - 590, "lastMessageTS": last, "lastModified": last}
    about = {"userName": f"{_NAMES[number % len(_NAMES)]} {number}", "origin": "web-chat"}
    return {**empty_state(conversation_id(number)).metadata, **counted, **times, **about}


def fill(to: Tenant, numbers: Sequence[int]) -> None:
    """Store the conversations with these numbers."""
    for rows in _rows_of(to, numbers):
        storage.save_many(rows)


def remove(to: Tenant, numbers: Sequence[int]) -> None:
    """Delete the stored conversations with these numbers. Each conversation has a single item."""
    keys = [store.key(to.workspace_id, AGENT, conversation_id(number)) for number in numbers]
    storage.delete_many([key.row(key.partition, key.sort) for key in keys])


def tally(to: Tenant, numbers: Iterable[int]) -> None:
    """Replace the tallies with those of a tenant that contains the conversations with these numbers."""
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
        unit.discard()  # this sets the version of each row, as in `_rows_of`
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
