"""The sequence row of an agent: the numbers of its conversations, and the proof that the agent exists.

A conversation takes the next number in the transaction that creates it, so numbers have no gap and no duplicate. The
list of conversations is ordered by them, and page N is a range of them. `recent` names the last conversations by id,
newest first: the index that the list reads lags behind its table in the cloud, and what it does not show yet is found
by key.
"""

import json
import zlib
from collections.abc import Sequence

from pynamodb.attributes import BinaryAttribute, NumberAttribute, UnicodeAttribute

from chalicelib import clock, errors
from chalicelib.storage import rows
from chalicelib.storage.client import ConditionFailed, Item
from chalicelib.storage.reads import find as find_row
from chalicelib.storage.rows import Key, Row
from chalicelib.storage.unit import put, require, update

# As many ids of our own length as keep the row within one capacity unit.
_RECENT = 32
_ITEM = "sequence"


class SequenceRow(Row):
    """The row; `high` is the number of the newest conversation, 0 before the first.

    After the deletion of its agent it is a tombstone, with `closed_at` and no `high`, until the cascade is complete.
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


class NumberTaken(ConditionFailed):
    """Another conversation of the agent took the number first. Creators take turns, so they need many runs and short
    pauses: with long ones those who come later would always be first."""

    STATUS_CODE = 503
    code = errors.Unavailable.code
    sentence = "Too many conversations of this agent are created at once; try again."
    runs = 200
    longest_backoff = 2


def new(workspace_id: str, agent_id: str) -> SequenceRow:
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
    """The tombstone of a deleted agent whose cascade is not complete, or None."""
    row = find_row(SequenceRow, rows.key(workspace_id, agent_id), _ITEM)
    return row if row is not None and row.closed_at is not None else None


def create(workspace_id: str, agent_id: str, error: errors.ApiError) -> None:
    """Stage the row of a new agent; `error` says that a tombstone of this id is in its place."""
    put(new(workspace_id, agent_id), SequenceRow.conversation.does_not_exist(), error)


def mark_deleted(row: SequenceRow) -> None:
    """Stage the tombstone; once it is there nothing can be created for the agent."""
    actions = [
        SequenceRow.high.remove(),
        SequenceRow.closed_at.set(clock.seconds()),
        SequenceRow.created.set(count(row)),
    ]
    update(row, actions, SequenceRow.high == row.high)


def count(row: SequenceRow) -> int:
    """How many conversations the agent has, or had when it was closed."""
    if row.high is None:
        return int(row.created or 0)
    return int(row.high) - sum(last - first + 1 for first, last in holes(row))


def require_agent(workspace_id: str, agent_id: str) -> None:
    """Stage the condition that the agent exists; its failure is NotFound."""
    require(key(workspace_id, agent_id), SequenceRow.high.exists(), errors.NotFound.of("agent"))


def advance(row: SequenceRow, conversation_id: str) -> int:
    """Stage that a conversation takes the next number; returns it. Its failure is NumberTaken, or NotFound when the
    agent was deleted."""
    recent = " ".join([conversation_id, *row.recent.split()][:_RECENT])
    number = int(row.high) + 1
    actions = [SequenceRow.high.set(number), SequenceRow.recent.set(recent)]
    update(row, actions, SequenceRow.high == row.high, _taken)
    return number


def _taken(item: Item | None) -> errors.ApiError:
    return NumberTaken() if item and "high" in item else errors.NotFound.of("agent")


def holes(row: SequenceRow) -> list[tuple[int, int]]:
    """The numbers of deleted conversations, as ranges in ascending order."""
    return [(first, last) for first, last in json.loads(zlib.decompress(row.holes))] if row.holes else []


def record_hole(row: SequenceRow, number: int) -> None:
    """Stage that a number is deleted; fails when another one was deleted first."""
    packed = zlib.compress(json.dumps(_with_hole(holes(row), number), separators=(",", ":")).encode())
    as_read = SequenceRow.holes == row.holes if row.holes else SequenceRow.holes.does_not_exist()
    update(row, [SequenceRow.holes.set(packed)], as_read & SequenceRow.high.exists())


def _with_hole(ranges: Sequence[tuple[int, int]], number: int) -> list[tuple[int, int]]:
    """Neighbouring ranges grow together, so that deleting everything leaves one."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted([*ranges, (number, number)]):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def recent_id(row: SequenceRow, number: int) -> str | None:
    """The conversation with this number, when it is one of the last ones."""
    ids, back = row.recent.split(), int(row.high) - number
    return ids[back] if 0 <= back < len(ids) else None
