"""Erasures in the database. An erasure is stored in its workspace's partition.

The person's identity is sealed in a separate attribute, which is removed when the erasure is complete. Therefore, the
row with the receipt does not identify the person.
"""

from collections.abc import Iterable
from typing import NamedTuple

from pynamodb.attributes import BinaryAttribute, UnicodeAttribute

from chalicelib import clock, errors, ids, storage
from chalicelib.storage import Document, DocumentRow, SealedRow

# Core's kinds. An extension's kinds are counted when they are searched.
KINDS = ("conversations", "analytics", "leads", "events", "answers")
MAX_RUNNING = 5  # per workspace, because each erasure reads all records
_ERASURE, _MATCH, _SLOT = "erasure", "erased", "erasing"


class ErasureRow(DocumentRow):
    """An erasure: `{createdAt, reference?, counts, receipt?}`. Until it is complete, `search` is its sealed progress.

    Until then, `slot` is the sort key of its `SlotRow`.
    """

    class Meta:
        table_name = storage.table("workspaces")

    lifecycle = storage.Lifecycle(
        "{workspace}",
        "erasure#{ULID}",
        owner="workspace",
        export="no: belongs to this stage",
        erasure="no: a complete erasure does not identify the person",
    )
    workspace = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)
    search = BinaryAttribute(legacy_encoding=False, null=True)
    slot = UnicodeAttribute(null=True)

    @property
    def erasure_id(self) -> str:
        """The erasure's id."""
        return storage.split_key(self.item)[1]

    @property
    def is_complete(self) -> bool:
        """Whether the erasure has deleted all of the person's records."""
        return self.search is None


class MatchRow(SealedRow):
    """One of the person's conversations: `{agentId, convoId}`. Its key contains its creation ULID instead of its id."""

    class Meta:
        table_name = storage.table("workspaces")

    lifecycle = storage.Lifecycle(
        "{workspace}",
        "erased#{erasure}#{ULID}",
        owner="workspace",
        export="no: belongs to this stage",
        erasure="no: deleted when the erasure is complete",
    )
    workspace = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)


class SlotRow(storage.Row):
    """One of the five slots for running erasures. The row exists while an erasure holds the slot."""

    class Meta:
        table_name = storage.table("workspaces")

    lifecycle = storage.Lifecycle(
        "{workspace}",
        "erasing#{number}",
        owner="workspace",
        export="no: belongs to this stage",
        erasure="no: contains no document",
    )
    workspace = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)


class Match(NamedTuple):
    """One of the person's conversations."""

    agent_id: str
    conversation_id: str
    created: str


def new(workspace_id: str, person: Document, reference: str | None = None) -> ErasureRow:
    """Stage an erasure of a person, `{userID?, email?, phone?}`, with an optional reference. This costs one request.

    Raise LimitReached above `MAX_RUNNING`. Each running erasure holds a slot, so the limit is exact. The commit raises
    ConditionFailed if another erasure has taken the slot.
    """
    slots = [storage.Key(SlotRow, workspace_id, storage.join_key(_SLOT, str(number))) for number in range(MAX_RUNNING)]
    free = [slot.sort for slot, row in zip(slots, storage.find_many(slots), strict=True) if row is None]
    if not free:
        message = f"A workspace may have {MAX_RUNNING} running erasures; wait until one is complete."
        raise errors.LimitReached(message, "erasures", MAX_RUNNING, MAX_RUNNING)
    row = ErasureRow(workspace_id, _item(ids.new_id()), slot=free[0])
    referenced = {"reference": reference} if reference else {}
    row.seal({"createdAt": clock.seconds(), **referenced, "counts": dict.fromkeys(KINDS, 0)})
    row.search = storage.seal(row, "search", {"person": person})
    storage.put(row)
    storage.put(SlotRow(workspace_id, row.slot), SlotRow.item.does_not_exist())
    return row


def find(workspace_id: str, erasure_id: str) -> ErasureRow | None:
    """Return an erasure, or None. This costs one request."""
    return storage.find(ErasureRow, workspace_id, _item(erasure_id))


def read(workspace_id: str, erasure_id: str) -> ErasureRow:
    """Return an erasure. This costs one request. Raise NotFound."""
    return errors.require(find(workspace_id, erasure_id), "erasure")


def list_page(workspace_id: str, after: str | None, limit: int) -> tuple[list[ErasureRow], str | None]:
    """Return up to `limit` erasures that began before the id `after`, newest first, and the next page's `after`.

    On the last page, that is None. This costs one request.
    """
    last = ids.highest_before(after) if after else ids.HIGHEST
    condition = ErasureRow.item.between(_item(""), _item(last))
    rows = storage.query(ErasureRow, workspace_id, condition, limit=limit + 1, newest_first=True)
    return rows[:limit], rows[limit - 1].erasure_id if len(rows) > limit else None


def save(row: ErasureRow, document: Document, search: Document) -> None:
    """Write an erasure's progress immediately. Raise ConditionFailed if it has changed since it was read."""
    row.seal(document)
    row.search = storage.seal(row, "search", search)
    with storage.unit_of_work():
        storage.put(row)


def complete(row: ErasureRow, document: Document) -> None:
    """Write a complete erasure immediately, and free its slot.

    Raise ConditionFailed if it has changed since it was read.
    """
    slot = SlotRow(row.workspace, row.slot)
    row.seal(document)
    row.search = row.slot = None
    with storage.unit_of_work():
        storage.put(row)
        storage.delete(slot)


def remember(row: ErasureRow, conversations: Iterable[Match]) -> None:
    """Record that these conversations belong to the person. Recording them again has no effect."""
    matches = []
    for conversation in conversations:
        match = MatchRow(row.workspace, storage.join_key(_MATCH, row.erasure_id, conversation.created))
        match.seal({"agentId": conversation.agent_id, "convoId": conversation.conversation_id})
        matches.append(match)
    storage.save_many(matches)


def list_conversations(row: ErasureRow) -> set[tuple[str, str]]:
    """Return the agent id and conversation id of each conversation stored so far. This costs one request per MB."""
    documents = (match.open() for match in list_matches(row))
    return {(document["agentId"], document["convoId"]) for document in documents}


def list_matches(row: ErasureRow, limit: int | None = None) -> list[MatchRow]:
    """Return the rows for up to `limit` of the person's conversations, or for all of them by default."""
    beginning = storage.join_key(_MATCH, row.erasure_id, "")
    return storage.query(MatchRow, row.workspace, MatchRow.item.startswith(beginning), limit=limit)


def forget(matches: list[MatchRow]) -> None:
    """Delete these conversation rows."""
    storage.delete_many(matches)


def list_all(workspace_id: str) -> list[ErasureRow]:
    """Return all of a workspace's erasure rows."""
    prefixes = (_ERASURE, _MATCH, _SLOT)
    return [
        row
        for prefix in prefixes
        for row in storage.query(ErasureRow, workspace_id, ErasureRow.item.startswith(prefix))
    ]


def _item(erasure_id: str) -> str:
    return storage.join_key(_ERASURE, erasure_id)
