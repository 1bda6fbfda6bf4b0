"""The sequence row of an agent: the numbers of its conversations, and the proof that the agent is there.

A conversation takes the next number in the transaction that creates it, so that numbers have no gap and
no double. The list of conversations is ordered by them, and page N is a range of them. `recent` names
the last conversations by id, newest first: the index that the list reads lags behind its table in the
cloud, and what it does not show yet is found by key.
"""

from typing import NamedTuple

from pynamodb.attributes import NumberAttribute, UnicodeAttribute
from pynamodb.exceptions import CancellationReason

from chalicelib import storage

# As many ids of our own length as keep the row within one capacity unit.
_RECENT = 32
_ITEM = "sequence"


class SequenceRow(storage.Row):
    """The row; `high` is the number of the newest conversation, 0 before the first."""

    class Meta:
        table_name = storage.table("conversations")

    conversation = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True, default=_ITEM)
    high = NumberAttribute()
    recent = UnicodeAttribute(default="")


class Advance(NamedTuple):
    """The number that a new conversation gets, and the step that takes it."""

    number: int
    step: storage.Step


def first(workspace_id: str, agent_id: str) -> SequenceRow:
    """The row of a new agent."""
    return SequenceRow(storage.key(workspace_id, agent_id), high=0)


def key(workspace_id: str, agent_id: str) -> storage.Key:
    """What to ask `storage.find_many` for."""
    return storage.Key(SequenceRow, storage.key(workspace_id, agent_id), _ITEM)


def find(workspace_id: str, agent_id: str) -> SequenceRow | None:
    """The row, or None when there is no such agent. One request."""
    return storage.find(SequenceRow, storage.key(workspace_id, agent_id), _ITEM)


def require_agent(workspace_id: str, agent_id: str) -> storage.Step:
    """A step that fails where the agent is not there (any more)."""
    return storage.require(key(workspace_id, agent_id), SequenceRow.high.exists())


def advance(row: SequenceRow, conversation_id: str) -> Advance:
    """Take the next number for a conversation; the step fails when somebody else has taken it."""
    recent = " ".join([conversation_id, *row.recent.split()][:_RECENT])
    actions = [SequenceRow.high.set(int(row.high) + 1), SequenceRow.recent.set(recent)]
    return Advance(int(row.high) + 1, storage.change(row, actions, SequenceRow.high == row.high))


def as_stored(reason: CancellationReason | None) -> SequenceRow | None:
    """The row as a failed `advance` found it, None when it was not there or the reason does not say."""
    return SequenceRow.from_raw_data(reason.raw_item) if reason and reason.raw_item else None


def recent_id(row: SequenceRow, number: int) -> str | None:
    """The conversation with this number, when it is one of the last ones."""
    ids, back = row.recent.split(), int(row.high) - number
    return ids[back] if 0 <= back < len(ids) else None
