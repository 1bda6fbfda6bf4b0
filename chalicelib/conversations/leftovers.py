"""Leftovers of a deleted conversation: all items in its partition except the conversation's own item.

A deletion removes the conversation's own item and its chunks. TTL removes only the conversation's own item. The stream
reports both, and 90 seconds later a task deletes the remaining items. By then, every request that read the conversation
has finished, so no append can add more index items. If a new conversation has the same id, its items are kept.
"""

import math
from itertools import islice

from pynamodb.attributes import UnicodeAttribute

from chalicelib import clock, ids, storage
from chalicelib.conversations import transcript
from chalicelib.conversations.rows import CONVERSATION_ITEM, ChunkRow, ConversationRow
from chalicelib.queues import tasks

CLEAR_DELAY_SECONDS = 90  # longer than any request takes
_BATCH = 50  # a transaction has at most 100 items
_SKEW_MILLISECONDS = 10_000  # the maximum clock skew between two processes


class ConversationPartRow(storage.Row):
    """An item in a conversation's partition, except the conversation's own item. `writing` is a chunk's write id."""

    class Meta:
        table_name = storage.table("conversations")

    conversation = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)
    writing = UnicodeAttribute(null=True)

    @property
    def write_id(self) -> str:
        """Return the ULID of the write that stored the part. For new messages, it is read from the sort key."""
        return self.writing or storage.split_key(self.item)[1]


def resume(task: tasks.ClearLeftovers, seconds: float) -> None:
    """Delete a conversation's leftovers for up to `seconds`, then send a task for the rest."""
    after = clear(task.conversation, task.after or CONVERSATION_ITEM, clock.monotonic() + seconds)
    if after is not None:
        tasks.send(storage.split_key(task.conversation)[0], [task._replace(after=after)])


def clear(conversation: str, after: str = CONVERSATION_ITEM, end: float = math.inf) -> str | None:
    """Delete the parts of the conversation with this partition key, unless the conversation exists.

    If it exists, delete only the parts of an earlier conversation with the same key. Start after the sort key `after`,
    and stop when the monotonic clock reaches `end`. Return the last sort key if parts may remain, otherwise None. This
    costs one request per MB, plus up to three per 50 parts. Raise ConditionFailed if a part has changed.
    """
    parts = storage.iterate(ConversationPartRow, conversation, ConversationPartRow.item > after)
    while batch := [*islice(parts, _BATCH)]:
        try:
            _delete(conversation, batch)
        except storage.ConditionFailed:
            _delete_earlier(conversation, batch)
        if clock.monotonic() > end:
            return batch[-1].item
    return None


def _delete(conversation: str, batch: list[ConversationPartRow]) -> None:
    with storage.unit_of_work():
        storage.require(
            storage.Key(ConversationRow, conversation, CONVERSATION_ITEM), ConversationRow.item.does_not_exist()
        )
        for part in batch:
            storage.delete(part)


def _delete_earlier(conversation: str, batch: list[ConversationPartRow]) -> None:
    """Delete the parts that an earlier conversation wrote before the current conversation began.

    The current conversation keeps its index items, even for replaced chunks, because appends need them.
    """
    head = storage.find(ConversationRow, conversation, CONVERSATION_ITEM)
    if head is None:
        raise storage.ConditionFailed
    current = {chunk.write_id for chunk in transcript.chunks(head)}
    began = ids.id_at(ids.timestamp_of(head.created) - _SKEW_MILLISECONDS, 0)
    with storage.unit_of_work():
        for part in batch:
            if part.write_id not in current and part.write_id < began:
                # A new chunk or index item may have replaced the part.
                storage.delete(part, ChunkRow.writing == part.writing if part.writing else None)
