"""The sequence row of an agent: it numbers the agent's conversations and exists as long as the agent does.

The transaction that creates a conversation assigns the next number, so numbers have no gaps and no duplicates. Lists
are ordered by number, and page N is a range of numbers. `recent` holds the ids of the newest conversations. The index
is eventually consistent, and the list reads by key what the index does not have yet.
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

# With ids of 26 characters the row stays within one write capacity unit.
_RECENT = 32
_ITEM = "sequence"


class SequenceRow(Row):
    """`high` is the number of the newest conversation, 0 before the first.

    Deleting the agent turns the row into a tombstone, with `closed_at` and without `high`, until the cascade completes.
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
    """Another conversation of the agent took the number first.

    Only one creation succeeds per number, so creations need many runs. The pauses stay short because long ones would
    let later requests overtake.
    """

    STATUS_CODE = 503
    code = errors.Unavailable.code
    sentence = "Too many conversations of this agent are created at once; try again."
    runs = 200
    longest_backoff = 2


def new(workspace_id: str, agent_id: str) -> SequenceRow:
    """The row of a new agent, not stored yet."""
    return SequenceRow(rows.key(workspace_id, agent_id), high=0)


def key(workspace_id: str, agent_id: str) -> Key:
    """The key of the row, for `storage.find_many`."""
    return Key(SequenceRow, rows.key(workspace_id, agent_id), _ITEM)


def find(workspace_id: str, agent_id: str) -> SequenceRow | None:
    """The row, or None for an unknown or deleted agent. One request."""
    return unless_deleted(find_row(SequenceRow, rows.key(workspace_id, agent_id), _ITEM))


def read(workspace_id: str, agent_id: str) -> SequenceRow:
    """The row. One request. Raises NotFound for an unknown or deleted agent."""
    return require_active(find(workspace_id, agent_id))


def require_active(row: SequenceRow | None) -> SequenceRow:
    """`row`, if it belongs to an existing agent. Raises NotFound for None and for a tombstone."""
    row = unless_deleted(row)
    if row is None:
        raise errors.NotFound.of("agent")
    return row


def unless_deleted(row: SequenceRow | None) -> SequenceRow | None:
    """The row, or None if it is a tombstone."""
    return None if row is None or row.closed_at is not None else row


def find_tombstone(workspace_id: str, agent_id: str) -> SequenceRow | None:
    """The tombstone of a deleted agent whose cascade is not complete, or None. One request."""
    row = find_row(SequenceRow, rows.key(workspace_id, agent_id), _ITEM)
    return row if row is not None and row.closed_at is not None else None


def create(workspace_id: str, agent_id: str, error: errors.ApiError) -> None:
    """Stage the row of a new agent. Raises `error` at the commit if a row or tombstone of this id exists."""
    put(new(workspace_id, agent_id), SequenceRow.conversation.does_not_exist(), error)


def mark_deleted(row: SequenceRow) -> None:
    """Stage the tombstone. Once committed, no record of the agent can be created."""
    actions = [
        SequenceRow.high.remove(),
        SequenceRow.closed_at.set(clock.seconds()),
        SequenceRow.created.set(count(row)),
    ]
    update(row, actions, SequenceRow.high == row.high)


def count(row: SequenceRow) -> int:
    """The number of the agent's conversations; of a tombstone, at the time of the deletion."""
    if row.high is None:
        return int(row.created or 0)
    return int(row.high) - sum(last - first + 1 for first, last in holes(row))


def require_agent(workspace_id: str, agent_id: str) -> None:
    """Stage the condition that the agent exists. The commit raises NotFound otherwise."""
    require(key(workspace_id, agent_id), SequenceRow.high.exists(), errors.NotFound.of("agent"))


def advance(row: SequenceRow, conversation_id: str) -> int:
    """Stage the assignment of the next number to a conversation, and return the number.

    The commit raises NumberTaken if another conversation took it, and NotFound if the agent was deleted.
    """
    recent = " ".join([conversation_id, *row.recent.split()][:_RECENT])
    number = int(row.high) + 1
    actions = [SequenceRow.high.set(number), SequenceRow.recent.set(recent)]
    update(row, actions, SequenceRow.high == row.high, _advance_error)
    return number


def _advance_error(item: Item | None) -> errors.ApiError:
    return NumberTaken() if item and "high" in item else errors.NotFound.of("agent")


def holes(row: SequenceRow) -> list[tuple[int, int]]:
    """The numbers of deleted conversations, as ranges in ascending order."""
    return [(first, last) for first, last in json.loads(zlib.decompress(row.holes))] if row.holes else []


def record_hole(row: SequenceRow, number: int) -> None:
    """Stage the deletion of a number. The commit raises ConditionFailed if another one was deleted first."""
    packed = zlib.compress(json.dumps(_with_hole(holes(row), number), separators=(",", ":")).encode())
    unchanged = SequenceRow.holes == row.holes if row.holes else SequenceRow.holes.does_not_exist()
    update(row, [SequenceRow.holes.set(packed)], unchanged & SequenceRow.high.exists())


def _with_hole(ranges: Sequence[tuple[int, int]], number: int) -> list[tuple[int, int]]:
    """The ranges with `number` added. Adjacent ranges are merged, so deleting everything leaves one range."""
    merged: list[tuple[int, int]] = []
    for first, last in sorted([*ranges, (number, number)]):
        if merged and first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(merged[-1][1], last))
        else:
            merged.append((first, last))
    return merged


def recent_id(row: SequenceRow, number: int) -> str | None:
    """The id of the conversation with this number, or None if it is not among the most recent."""
    ids, back = row.recent.split(), int(row.high) - number
    return ids[back] if 0 <= back < len(ids) else None
