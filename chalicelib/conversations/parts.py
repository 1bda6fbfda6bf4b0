"""The parts of a conversation that is gone: everything in its partition besides its own item.

Nothing deletes them with a conversation that DynamoDB has removed by TTL. The stream reports that, and a queue
message asks for `clear`. A new conversation may have the same id by then: its parts stay.
"""

import json
from itertools import islice

from pynamodb.attributes import UnicodeAttribute

from chalicelib import clock, ids, storage
from chalicelib.conversations import turns
from chalicelib.conversations.rows import HEAD, ChunkRow, ConversationRow

CLEAR = "clear"
_BATCH = 50  # a transaction has at most 100 items
_REQUEST_MILLISECONDS = 90_000  # longer than a request lasts, with clocks that differ


class PartRow(storage.Row):
    """Any item of a conversation. `writing` is the write id of a chunk, also in the index items of its messages."""

    class Meta:
        table_name = storage.table("conversations")

    conversation = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)
    writing = UnicodeAttribute(null=True)


def message(conversation: str) -> str:
    """The queue message that asks to clear the conversation with this partition key."""
    return json.dumps([CLEAR, conversation])


def clear(conversation: str) -> None:
    """Delete the parts of the conversation with this partition key, unless the conversation exists.

    If it does, deletes only chunks that it does not name, and their index items. One request per MB, and one per 50
    parts.
    """
    found = storage.iterate(PartRow, conversation, PartRow.item > HEAD)
    while batch := [*islice(found, _BATCH)]:
        try:
            _delete(conversation, batch)
        except storage.ConditionFailed:
            _delete_unnamed(conversation, batch)


def _delete(conversation: str, batch: list[PartRow]) -> None:
    with storage.unit_of_work():
        storage.require(storage.Key(ConversationRow, conversation, HEAD), ConversationRow.item.does_not_exist())
        for part in batch:
            storage.delete(part)


def _delete_unnamed(conversation: str, batch: list[PartRow]) -> None:
    """Delete chunks of an earlier conversation, and their index items.

    The head is read after them, so it names those that it still has. Only a request that is running may have written
    index items for a chunk that the head does not name yet.
    """
    head = storage.find(ConversationRow, conversation, HEAD)
    named = {chunk.write_id for chunk in turns.chunks(head)} if head else set()
    settled = ids.id_at(clock.milliseconds() - _REQUEST_MILLISECONDS, 0)
    for part in batch:
        if part.writing is not None and part.writing not in named and part.writing < settled:
            _delete_if_unchanged(part)


def _delete_if_unchanged(part: PartRow) -> None:
    try:
        with storage.unit_of_work():
            storage.delete(part, ChunkRow.writing == part.writing)
    except storage.ConditionFailed:
        return  # a new chunk has its place
