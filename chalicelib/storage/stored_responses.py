"""Rows for stored responses to requests with an `Idempotency-Key` (`http.idempotency`).

Partition keys end with a hash, so only an index can find a workspace's items. Erasures and the `workspace delete`
command use this index. An index partition accepts 1,000 write units per second, so each workspace has 16 partitions.
"""

from collections.abc import Iterator

from pynamodb.attributes import BinaryAttribute, NumberAttribute, TTLAttribute, UnicodeAttribute
from pynamodb.indexes import GlobalSecondaryIndex, KeysOnlyProjection

from chalicelib.storage import encryption
from chalicelib.storage.documents import SealedRow
from chalicelib.storage.reads import find_many, iterate
from chalicelib.storage.rows import Key, Lifecycle, Row, TaggedRow, join_key, split_key, table

INDEX = "by_workspace"
RESPONSE = "answer"


class PiecesByWorkspace(GlobalSecondaryIndex["PieceRow"]):  # type: ignore[no-untyped-call]
    """The keys of a workspace's items. Items from earlier versions lack `shard`, and expire within a day."""

    class Meta:
        index_name = INDEX
        projection = KeysOnlyProjection()

    shard = UnicodeAttribute(hash_key=True)
    request = UnicodeAttribute(range_key=True)


class StoredResponseRow(SealedRow, TaggedRow):
    """A key and its encrypted response: `{fingerprint, path?, status, headers, messages}`, and the body.

    `path` contains the request's path values. Erasures need them, because a response may not contain the conversation
    id. An earlier version stored no `path`.

    A long body is stored in `pieces` separate items, whose sort keys begin with `writing`. The partition key is a hash,
    so it does not reveal the key or the credential.
    """

    class Meta:
        table_name = table("idempotency")

    lifecycle = Lifecycle("{workspace}#{hash}", "answer", owner="workspace", export="no: expires", erasure="answers")
    request = UnicodeAttribute(hash_key=True)
    part = UnicodeAttribute(range_key=True, default=RESPONSE)
    shard = UnicodeAttribute(null=True)
    body = BinaryAttribute(legacy_encoding=False, null=True)
    writing = UnicodeAttribute(null=True)
    pieces = NumberAttribute(null=True)
    expires_at = TTLAttribute()


class PieceRow(Row):
    """A piece of a long encrypted body. If only its keys are set, the row can represent any item in the table."""

    class Meta:
        table_name = table("idempotency")

    lifecycle = Lifecycle(
        "{workspace}#{hash}", "{ULID}#{number}", owner="workspace", export="no: expires", erasure="answers"
    )
    request = UnicodeAttribute(hash_key=True)
    part = UnicodeAttribute(range_key=True)
    by_workspace = PiecesByWorkspace()
    shard = UnicodeAttribute(null=True)
    piece = BinaryAttribute(legacy_encoding=False, null=True)
    expires_at = TTLAttribute()


def shard_of(request: str) -> str:
    """Return the index partition for a partition key."""
    workspace_id, name = split_key(request)
    return join_key(workspace_id, name[0])


def shards(workspace_id: str) -> list[str]:
    """Return a workspace's index partitions, sorted."""
    return [join_key(workspace_id, digit) for digit in "0123456789abcdef"]


def list_all(workspace_id: str) -> Iterator[PieceRow]:
    """Yield the keys of all of a workspace's items."""
    for shard in shards(workspace_id):
        yield from iterate(PieceRow, shard, index=INDEX)


def piece_rows(row: StoredResponseRow) -> list[PieceRow]:
    """Return rows with the keys of a long body's pieces, or no rows for a short body."""
    return [
        PieceRow(row.request, join_key(row.writing, f"{number:02}"), shard=row.shard, expires_at=row.expires_at)
        for number in range(int(row.pieces or 0))
    ]


def read_body(row: StoredResponseRow) -> str:
    """Return a response body. Reading a long body costs one request."""
    if row.body is not None:
        return _open(row, row.body)
    pieces = find_many([Key(PieceRow, piece.request, piece.part) for piece in piece_rows(row)])
    return _open(row, b"".join(piece.piece for piece in pieces if piece))


def _open(row: StoredResponseRow, sealed: bytes) -> str:
    return encryption.unseal(row.workspace_id, row.associated_data("body"), sealed).decode()
