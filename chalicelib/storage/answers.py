"""The rows of stored answers to requests with an `Idempotency-Key` (`http.idempotency`)."""

from pynamodb.attributes import BinaryAttribute, NumberAttribute, TTLAttribute, UnicodeAttribute

from chalicelib.storage import encryption
from chalicelib.storage.documents import SealedRow
from chalicelib.storage.reads import find_many
from chalicelib.storage.rows import Key, Row, TaggedRow, key, table


class AnswerRow(SealedRow, TaggedRow):
    """A key and its response: the sealed document `{fingerprint, path?, status, headers, messages}` and sealed body.

    `path` has the values in the path of the request, by which an erasure finds a response that does not name its
    conversation. A version without erasures stored none.

    A long body is stored in `pieces` separate items, whose sort keys begin with `writing`. The partition key is a hash,
    so it does not reveal the key or the credential.
    """

    class Meta:
        table_name = table("idempotency")

    request = UnicodeAttribute(hash_key=True)
    part = UnicodeAttribute(range_key=True, default="answer")
    body = BinaryAttribute(legacy_encoding=False, null=True)
    writing = UnicodeAttribute(null=True)
    pieces = NumberAttribute(null=True)
    expires_at = TTLAttribute()


class PieceRow(Row):
    """A piece of a long sealed body."""

    class Meta:
        table_name = table("idempotency")

    request = UnicodeAttribute(hash_key=True)
    part = UnicodeAttribute(range_key=True)
    piece = BinaryAttribute(legacy_encoding=False, null=True)
    expires_at = TTLAttribute()


def piece_rows(row: AnswerRow) -> list[PieceRow]:
    """Rows with the keys of the pieces of a long body; none for a short one."""
    return [
        PieceRow(row.request, key(row.writing, f"{number:02}"), expires_at=row.expires_at)
        for number in range(int(row.pieces or 0))
    ]


def read_body(row: AnswerRow) -> str:
    """The body of a response. One request if it is long."""
    if row.body is not None:
        return _open(row, row.body)
    pieces = find_many([Key(PieceRow, one.request, one.part) for one in piece_rows(row)])
    return _open(row, b"".join(one.piece for one in pieces if one))


def _open(row: AnswerRow, sealed: bytes) -> str:
    return encryption.unseal(row.workspace_id, row.associated_data("body"), sealed).decode()
