"""The sequence row of an agent: the numbers of its conversations, and the proof that the agent is there.

A conversation takes the next number in the transaction that creates it, so that numbers have no gap and
no double. The list of conversations is ordered by them, and page N is a range of them. `recent` names
the last conversations by id, newest first: the index that the list reads lags behind its table in the
cloud, and what it does not show yet is found by key.
"""

import json
import zlib
from collections.abc import Sequence
from typing import NamedTuple

from pynamodb.attributes import BinaryAttribute, NumberAttribute, UnicodeAttribute
from pynamodb.exceptions import CancellationReason

from chalicelib import clock
from chalicelib.storage import rows
from chalicelib.storage.reads import find as find_row
from chalicelib.storage.rows import Key, Row
from chalicelib.storage.writes import Step, change, put, require

# As many ids of our own length as keep the row within one capacity unit.
_RECENT = 32
_ITEM = "sequence"


class SequenceRow(Row):
    """The row; `high` is the number of the newest conversation, 0 before the first.

    Of a deleted agent it stays as a tombstone, with `closed_at` and no `high`, until all is swept.
    """

    class Meta:
        table_name = rows.table("conversations")

    conversation = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True, default=_ITEM)
    high = NumberAttribute(null=True)
    recent = UnicodeAttribute(default="")
    holes = BinaryAttribute(legacy_encoding=False, null=True)
    closed_at = NumberAttribute(null=True)
    created = NumberAttribute(null=True)


class Advance(NamedTuple):
    """The number that a new conversation gets, and the step that takes it."""

    number: int
    step: Step


def first(workspace_id: str, agent_id: str) -> SequenceRow:
    """The row of a new agent."""
    return SequenceRow(rows.key(workspace_id, agent_id), high=0)


def key(workspace_id: str, agent_id: str) -> Key:
    """What to ask `storage.find_many` for."""
    return Key(SequenceRow, rows.key(workspace_id, agent_id), _ITEM)


def find(workspace_id: str, agent_id: str) -> SequenceRow | None:
    """The row, or None when there is no such agent. One request."""
    return unless_deleted(find_row(SequenceRow, rows.key(workspace_id, agent_id), _ITEM))


def unless_deleted(row: SequenceRow | None) -> SequenceRow | None:
    """The row, but None for a tombstone."""
    return None if row is None or row.closed_at is not None else row


def find_tombstone(workspace_id: str, agent_id: str) -> SequenceRow | None:
    """What stands in the place of a deleted agent's row until all of it is swept, or None."""
    row = find_row(SequenceRow, rows.key(workspace_id, agent_id), _ITEM)
    return row if row is not None and row.closed_at is not None else None


def create(workspace_id: str, agent_id: str) -> Step:
    """The step that makes the row of a new agent; it fails while one of this id is being swept."""
    return put(first(workspace_id, agent_id), SequenceRow.conversation.does_not_exist())


def close(row: SequenceRow) -> Step:
    """The step that makes the row a tombstone; from then on nothing can be created of the agent."""
    actions = [
        SequenceRow.high.remove(),
        SequenceRow.closed_at.set(clock.seconds()),
        SequenceRow.created.set(count(row)),
    ]
    return change(row, actions, SequenceRow.high == row.high)


def count(row: SequenceRow) -> int:
    """How many conversations the agent has, or had when it was closed."""
    if row.high is None:
        return int(row.created or 0)
    return int(row.high) - sum(last - first + 1 for first, last in holes(row))


def require_agent(workspace_id: str, agent_id: str) -> Step:
    """A step that fails where the agent is not there (any more)."""
    return require(key(workspace_id, agent_id), SequenceRow.high.exists())


def advance(row: SequenceRow, conversation_id: str) -> Advance:
    """Take the next number for a conversation; the step fails when somebody else has taken it."""
    recent = " ".join([conversation_id, *row.recent.split()][:_RECENT])
    actions = [SequenceRow.high.set(int(row.high) + 1), SequenceRow.recent.set(recent)]
    return Advance(int(row.high) + 1, change(row, actions, SequenceRow.high == row.high))


def holes(row: SequenceRow) -> list[tuple[int, int]]:
    """The numbers of deleted conversations, as ranges in ascending order."""
    return [(first, last) for first, last in json.loads(zlib.decompress(row.holes))] if row.holes else []


def leave_hole(row: SequenceRow, number: int) -> Step:
    """The step that marks a number as deleted; it fails when somebody else has marked another meanwhile."""
    packed = zlib.compress(json.dumps(_with_hole(holes(row), number), separators=(",", ":")).encode())
    as_read = SequenceRow.holes == row.holes if row.holes else SequenceRow.holes.does_not_exist()
    return change(row, [SequenceRow.holes.set(packed)], as_read & SequenceRow.high.exists())


def _with_hole(ranges: Sequence[tuple[int, int]], number: int) -> list[tuple[int, int]]:
    """Neighbouring ranges grow together, so that deleting everything leaves one."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted([*ranges, (number, number)]):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def as_stored(reason: CancellationReason | None) -> SequenceRow | None:
    """The row as a failed `advance` found it, None when it was not there or the reason does not say."""
    return unless_deleted(SequenceRow.from_raw_data(reason.raw_item)) if reason and reason.raw_item else None


def recent_id(row: SequenceRow, number: int) -> str | None:
    """The conversation with this number, when it is one of the last ones."""
    ids, back = row.recent.split(), int(row.high) - number
    return ids[back] if 0 <= back < len(ids) else None
