"""The parts of a conversation that is gone: everything in its partition besides its own item.

Nothing deletes them with a conversation that DynamoDB has removed by TTL. The stream reports that, and a queue
message asks for `clear`. A new conversation may have the same id by then: its parts stay.
"""

import json
from itertools import islice

from pynamodb.attributes import UnicodeAttribute

from chalicelib import storage
from chalicelib.conversations import turns
from chalicelib.conversations.rows import HEAD, ChunkRow, ConversationRow

CLEAR = "clear"
_BATCH = 50  # a transaction has at most 100 items


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

    If it does, deletes only the chunks of earlier conversations, and the index items of their messages. One request per
    MB, and one per 50 parts.
    """
    found = storage.iterate(PartRow, conversation, PartRow.item > HEAD)
    while batch := [*islice(found, _BATCH)]:
        try:
            _delete(conversation, batch)
        except storage.ConditionFailed:
            _delete_earlier(conversation, batch)


def _delete(conversation: str, batch: list[PartRow]) -> None:
    with storage.unit_of_work():
        storage.require(storage.Key(ConversationRow, conversation, HEAD), ConversationRow.item.does_not_exist())
        for part in batch:
            storage.delete(part)


def _delete_earlier(conversation: str, batch: list[PartRow]) -> None:
    """Delete parts of an earlier conversation: the one that exists does not name their writes, which are older.

    An append writes index items before the commit that names their chunk, so the names alone do not tell.
    """
    head = storage.find(ConversationRow, conversation, HEAD)
    named = {chunk.write_id for chunk in turns.chunks(head)} if head else set()
    for part in batch:
        is_earlier = head is None or (part.writing or "") < head.created
        if part.writing is not None and part.writing not in named and is_earlier:
            _delete_if_unchanged(part)


def _delete_if_unchanged(part: PartRow) -> None:
    try:
        with storage.unit_of_work():
            storage.delete(part, ChunkRow.writing == part.writing)
    except storage.ConditionFailed:
        return  # a new chunk has its place
