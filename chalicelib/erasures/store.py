"""Erasures in the database, in the partition of their workspace.

What is searched for is sealed in an attribute of its own, which is removed when the erasure is complete. So the receipt
does not keep the person.
"""

from collections.abc import Iterable
from typing import NamedTuple

from pynamodb.attributes import BinaryAttribute, UnicodeAttribute

from chalicelib import clock, errors, ids, storage
from chalicelib.storage import Document, DocumentRow, SealedRow

MAX_RUNNING = 5  # in a workspace: each reads all of its records
_ERASURE, _FOUND, _SLOT = "erasure", "erased", "erasing"


class ErasureRow(DocumentRow):
    """An erasure: `{createdAt, counts, receipt?}`. Until it is complete, `search` is its sealed progress.

    `slot` is the sort key of its `SlotRow` until then.
    """

    class Meta:
        table_name = storage.table("workspaces")

    workspace = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)
    search = BinaryAttribute(legacy_encoding=False, null=True)
    slot = UnicodeAttribute(null=True)

    @property
    def erasure_id(self) -> str:
        """The id of the erasure."""
        return storage.split_key(self.item)[1]

    @property
    def is_complete(self) -> bool:
        """Whether nothing is left to do."""
        return self.search is None


class FoundRow(SealedRow):
    """A conversation that an erasure has found: `{agentId, convoId}`. Its key has the ULID of its creation instead."""

    class Meta:
        table_name = storage.table("workspaces")

    workspace = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)


class SlotRow(storage.Row):
    """One of the places for running erasures: it exists as long as an erasure has it."""

    class Meta:
        table_name = storage.table("workspaces")

    workspace = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)


class Conversation(NamedTuple):
    """A conversation of the person."""

    agent_id: str
    conversation_id: str
    created: str


def new(workspace_id: str, person: Document, kinds: Iterable[str]) -> ErasureRow:
    """Stage an erasure of a person, `{userID?, email?, phone?}`. One request. Raises LimitReached above `MAX_RUNNING`.

    Each running erasure has a slot, so the limit is exact. The commit raises ConditionFailed if another one takes it.
    """
    slots = [storage.Key(SlotRow, workspace_id, storage.key(_SLOT, str(number))) for number in range(MAX_RUNNING)]
    free = [slot.sort for slot, taken in zip(slots, storage.find_many(slots), strict=True) if taken is None]
    if not free:
        message = f"A workspace may have {MAX_RUNNING} running erasures; wait until one is complete."
        raise errors.LimitReached(message, "erasures", MAX_RUNNING, MAX_RUNNING)
    row = ErasureRow(workspace_id, _item(ids.new_id()), slot=free[0])
    row.seal({"createdAt": clock.seconds(), "counts": dict.fromkeys(kinds, 0)})
    row.search = storage.seal(row, "search", {"person": person})
    storage.put(row)
    storage.put(SlotRow(workspace_id, row.slot), SlotRow.item.does_not_exist())
    return row


def find(workspace_id: str, erasure_id: str) -> ErasureRow | None:
    """The erasure, or None. One request."""
    return storage.find(ErasureRow, workspace_id, _item(erasure_id))


def read(workspace_id: str, erasure_id: str) -> ErasureRow:
    """The erasure. One request. Raises NotFound."""
    row = find(workspace_id, erasure_id)
    if row is None:
        raise errors.NotFound.of("erasure")
    return row


def save(row: ErasureRow, document: Document, search: Document) -> None:
    """Write the progress of an erasure now. Raises ConditionFailed if it was written since."""
    row.seal(document)
    row.search = storage.seal(row, "search", search)
    with storage.unit_of_work():
        storage.put(row)


def complete(row: ErasureRow, document: Document) -> None:
    """Write a complete erasure now, and free its slot. Raises ConditionFailed if it was written since."""
    slot = SlotRow(row.workspace, row.slot)
    row.seal(document)
    row.search = row.slot = None
    with storage.unit_of_work():
        storage.put(row)
        storage.delete(slot)


def remember(row: ErasureRow, found: Iterable[Conversation]) -> None:
    """Store conversations of the person. Storing one again has no effect."""
    rows = []
    for one in found:
        rows.append(FoundRow(row.workspace, storage.key(_FOUND, row.erasure_id, one.created)))
        rows[-1].seal({"agentId": one.agent_id, "convoId": one.conversation_id})
    storage.save_many(rows)


def list_found(row: ErasureRow) -> set[tuple[str, str]]:
    """The conversations of the person so far, as pairs of agent id and conversation id. One request per MB."""
    opened = (one.open() for one in _found(row))
    return {(one["agentId"], one["convoId"]) for one in opened}


def batch_found(row: ErasureRow, limit: int) -> list[FoundRow]:
    """Up to `limit` of the conversations of the person that are left, for `forget`."""
    return _found(row, limit)


def forget(found: list[FoundRow]) -> None:
    """Delete what `remember` has stored."""
    storage.delete_many(found)


def list_all(workspace_id: str) -> list[ErasureRow]:
    """All rows of erasures of a workspace, to delete them with it."""
    kinds = (_ERASURE, _FOUND, _SLOT)
    found = [storage.query(ErasureRow, workspace_id, ErasureRow.item.startswith(one)) for one in kinds]
    return [row for rows in found for row in rows]


def _found(row: ErasureRow, limit: int | None = None) -> list[FoundRow]:
    beginning = storage.key(_FOUND, row.erasure_id, "")
    return storage.query(FoundRow, row.workspace, FoundRow.item.startswith(beginning), limit=limit)


def _item(erasure_id: str) -> str:
    return storage.key(_ERASURE, erasure_id)
