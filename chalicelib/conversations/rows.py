"""Items in the conversations table. `store`, `transcript.turns` and `transcript.message_index` write these items."""

from pynamodb.attributes import BinaryAttribute, NumberAttribute, TTLAttribute, UnicodeAttribute
from pynamodb.indexes import GlobalSecondaryIndex, IncludeProjection

from chalicelib import clock, storage
from chalicelib.storage import Document

CONVERSATION_ITEM = "conversation"


class ByCreation(GlobalSecondaryIndex["ConversationRow"]):  # type: ignore[no-untyped-call]
    """An index of an agent's conversations by creation time. Its rows contain no turns, so they must never be saved."""

    class Meta:
        index_name = "by_creation"
        projection = IncludeProjection(["summary"])

    agent = UnicodeAttribute(hash_key=True)
    created = UnicodeAttribute(range_key=True)


class ByActivity(GlobalSecondaryIndex["ConversationRow"]):  # type: ignore[no-untyped-call]
    """A sparse index of a workspace's waiting conversations, by `store.inbox_key`.

    Its rows contain no turns, so they must never be saved.
    """

    class Meta:
        index_name = "by_activity"
        projection = IncludeProjection(["summary", "agent", "created"])

    waiting = UnicodeAttribute(hash_key=True)
    activity = UnicodeAttribute(range_key=True)


class ConversationRow(storage.VersionedRow):
    """A conversation: its metadata, its last turns, and a manifest of the chunks that contain earlier turns."""

    class Meta:
        table_name = storage.table("conversations")

    lifecycle = storage.Lifecycle(
        "{workspace}#{agent}#{conversation}",
        "conversation",
        owner="agent",
        export="conversation",
        erasure="conversations",
    )
    conversation = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True, default=CONVERSATION_ITEM)
    by_creation = ByCreation()
    by_activity = ByActivity()
    agent = UnicodeAttribute()
    created = UnicodeAttribute()  # the ULID of the first write
    # The workspace id and the inbox sort key, set while the conversation waits for a person.
    waiting = UnicodeAttribute(null=True)
    activity = UnicodeAttribute(null=True)
    # The encrypted metadata: in `summary`, which the indexes contain, or in `metadata` if it is too long for an index.
    summary = BinaryAttribute(legacy_encoding=False, null=True)
    metadata = BinaryAttribute(legacy_encoding=False, null=True)
    turns = BinaryAttribute(legacy_encoding=False)  # the last turns
    chunks = UnicodeAttribute(null=True)  # the manifest of the items that contain the earlier turns
    # The marks set by `message_index`, and the time at which they last changed. All messages before the last mark are
    # indexed.
    indexed = UnicodeAttribute(null=True)
    indexed_at = NumberAttribute(null=True)
    # The user's new messages and the transfer from the last write, for fan-out.
    received = BinaryAttribute(legacy_encoding=False, null=True)
    expires_at = TTLAttribute(null=True)  # the time of the last change plus the retention days in the metadata
    changes_until = NumberAttribute(null=True)  # the Unix time at which the leaky bucket in `visitors` is empty
    requested_at = NumberAttribute(null=True)  # the Unix milliseconds of an unanswered request for a person
    transfers = BinaryAttribute(legacy_encoding=False, null=True)  # the encrypted last transfers (`store`)
    answered_after = NumberAttribute(null=True)  # the milliseconds from the last answered request to its first answer
    ended_after = NumberAttribute(null=True)  # the milliseconds from the conversation's start to its first end


def read_metadata(row: ConversationRow) -> Document:
    """Return the metadata from a table row, or from an index entry that has a summary."""
    return storage.unseal(row, "metadata" if row.summary is None else "summary")


def unless_expired(row: ConversationRow | None) -> ConversationRow | None:
    """Return the conversation, or None if it has expired. DynamoDB may take up to two days to delete expired items."""
    return None if row is None or (row.expires_at and row.expires_at <= clock.to_datetime(clock.seconds())) else row


class ReceivedRow(storage.TaggedRow):
    """New messages that do not fit into the conversation's item. Only the stream uses them; they expire after a day."""

    class Meta:
        table_name = storage.table("conversations")

    lifecycle = storage.Lifecycle(
        "{workspace}#{agent}#{conversation}",
        "received#{ULID}#{first}",
        owner="conversation",
        export="no: the stream has read it",
        erasure="conversations",
    )
    conversation = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)
    received = BinaryAttribute(legacy_encoding=False)
    expires_at = TTLAttribute()


class ChunkRow(storage.Row):
    """An encrypted chunk of a long conversation's turns. `writing` is its write id, which is also in the manifest."""

    class Meta:
        table_name = storage.table("conversations")

    lifecycle = storage.Lifecycle(
        "{workspace}#{agent}#{conversation}",
        "turns#{number}",
        owner="conversation",
        export="conversation",
        erasure="conversations",
    )
    conversation = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)
    writing = UnicodeAttribute()
    part = BinaryAttribute(legacy_encoding=False)


class MessageIndexRow(storage.Row):
    """A message's position and length in a long conversation's JSON text, in bytes.

    Both are valid as long as the manifest contains `writing`, the write id of the chunk in which the message begins.
    """

    class Meta:
        table_name = storage.table("conversations")

    lifecycle = storage.Lifecycle(
        "{workspace}#{agent}#{conversation}",
        "mid#{digest}",
        owner="conversation",
        export="no: an append writes it again",
        erasure="conversations",
    )
    conversation = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)
    writing = UnicodeAttribute()
    start = NumberAttribute()
    length = NumberAttribute()
