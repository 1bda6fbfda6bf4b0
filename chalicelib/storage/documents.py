"""Rows whose content is one sealed JSON document; stores build on it, and know documents, not fields."""

import json
from typing import Any

from pynamodb.attributes import BinaryAttribute

from chalicelib import errors
from chalicelib.storage import encryption
from chalicelib.storage.rows import Row, VersionedRow

Document = dict[str, Any]

# Made once, and what was JSON before holds no circle to look for.
_ENCODER = json.JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":"))

# An item ends at 400 KB with its keys and other attributes.
_LIMIT = 390_000
# As JSON a record is bounded, too: answers carry it as that, escaped once more, and end at 6 MB.
_JSON_LIMIT = 3_000_000


def encode_json(document: Any) -> bytes:
    """`document` as compact UTF-8 JSON; NaN and infinities raise ValueError."""
    return _ENCODER.encode(document).encode()


def json_equal(one: Document, other: Document) -> bool:
    """Whether two documents are the same JSON; to Python 1, 1.0 and true are equal, too."""
    return one == other and json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


def seal(row: Row, attribute: str, document: Document) -> bytes:
    """What an attribute of an item is to hold for `document`.

    Raises TooLarge for what does not compress to one item, or 3 MB of escaped JSON.
    """
    payload = encode_json(document)
    sealed = encryption.seal(row.workspace_id, row.associated_data(attribute), payload)
    if len(sealed) > _LIMIT or _escaped_is_too_long(payload):
        raise errors.TooLarge("The record is too large to store.")
    return sealed


def unseal(row: Row, attribute: str) -> Document:
    """The document that an attribute of an item holds."""
    document: Document = json.loads(
        encryption.unseal(row.workspace_id, row.associated_data(attribute), getattr(row, attribute))
    )
    return document


class SealedRow(Row):
    """An item with one document. `open()` reads it, `seal()` replaces it before a save."""

    document = BinaryAttribute(legacy_encoding=False)

    def seal(self, document: Document) -> None:
        """Put `document` in. Raises TooLarge as `seal` does."""
        self.document = seal(self, "document", document)

    def open(self) -> Document:
        """The document as it was put in."""
        return unseal(self, "document")


class DocumentRow(SealedRow, VersionedRow):
    """The same for a document that is read, changed and saved: a stale save is a conflict."""


def _escaped_is_too_long(payload: bytes) -> bool:
    # Escaping at most triples a JSON text's bytes, so that all but the largest need not be escaped to know.
    return len(payload) * 3 > _JSON_LIMIT and len(json.dumps(payload.decode())) > _JSON_LIMIT
