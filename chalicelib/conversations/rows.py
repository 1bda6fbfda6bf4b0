"""The items of the table of conversations; what is in them is for `store` and `turns` to say."""

from pynamodb.attributes import BinaryAttribute, NumberAttribute, TTLAttribute, UnicodeAttribute
from pynamodb.indexes import GlobalSecondaryIndex, IncludeProjection

from chalicelib import storage

HEAD = "conversation"


class ByNumber(GlobalSecondaryIndex["ConversationRow"]):  # type: ignore[no-untyped-call]
    """The conversations of an agent in the order of their numbers."""

    class Meta:
        index_name = "by_number"
        projection = IncludeProjection(["metadata"])

    agent = UnicodeAttribute(hash_key=True)
    number = NumberAttribute(range_key=True)


class ConversationRow(storage.VersionedRow):
    """A conversation. `turns` are the last of its turns; `chunks` names the items with those before, see `Chunk`."""

    class Meta:
        table_name = storage.table("conversations")

    conversation = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True, default=HEAD)
    by_number = ByNumber()
    agent = UnicodeAttribute()
    number = NumberAttribute()
    metadata = BinaryAttribute(legacy_encoding=False)
    turns = BinaryAttribute(legacy_encoding=False)
    chunks = UnicodeAttribute(null=True)
    received = BinaryAttribute(legacy_encoding=False, null=True)


class ReceivedRow(storage.TaggedRow):
    """Received messages beside their conversation's item; only the stream needs them, so they expire after a day."""

    class Meta:
        table_name = storage.table("conversations")

    conversation = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)
    received = BinaryAttribute(legacy_encoding=False)
    expires_at = TTLAttribute()


class ChunkRow(storage.Row):
    """A part of the turns of a long conversation, sealed, and the mark of its writing."""

    class Meta:
        table_name = storage.table("conversations")

    conversation = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)
    writing = UnicodeAttribute()
    part = BinaryAttribute(legacy_encoding=False)
