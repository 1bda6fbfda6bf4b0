"""Rows that store one encrypted JSON document. Stores read and write whole documents, whatever their members."""

import json
from typing import Any

from pynamodb.attributes import BinaryAttribute

from chalicelib import errors
from chalicelib.storage import encryption
from chalicelib.storage.rows import Row, VersionedRow

Document = dict[str, Any]

# Documents were parsed from JSON, so they cannot be circular. A shared encoder avoids repeated setup.
_ENCODER = json.JSONEncoder(ensure_ascii=False, check_circular=False, allow_nan=False, separators=(",", ":"))

# Maximum bytes of an encrypted attribute. DynamoDB's limit of 400 KB per item includes the keys and other attributes.
_LIMIT = 390_000
# Maximum bytes of the document as an escaped JSON string. A Lambda response is JSON in a JSON string of at most 6 MB.
_JSON_LIMIT = 3_000_000


def encode_json(document: Any) -> bytes:
    """Return `document` as compact UTF-8 JSON. Raise ValueError for NaN and infinities."""
    return _ENCODER.encode(document).encode()


def json_equal(left: Document, right: Document) -> bool:
    """Return whether two documents are the same JSON. Python's `==` does not distinguish 1, 1.0 and true."""
    return left == right and json.dumps(left, sort_keys=True) == json.dumps(right, sort_keys=True)


def seal(row: Row, attribute: str, document: Document) -> bytes:
    """Return `document`, compressed and encrypted for this attribute of this item.

    Raise TooLarge if the result exceeds 390,000 bytes, or the escaped JSON exceeds 3 MB.
    """
    payload = encode_json(document)
    sealed = encryption.seal(row.workspace_id, row.associated_data(attribute), payload)
    if len(sealed) > _LIMIT or _exceeds_json_limit(payload):
        raise errors.TooLarge("The record is too large to store.")
    return sealed


def unseal_text(row: Row, attribute: str) -> str:
    """Return the JSON text of the document in an item's encrypted attribute, exactly as `encode_json` wrote it.

    Raise encryption.DecryptionError or layouts.UnknownLayout.
    """
    return encryption.unseal(
        row.workspace_id, row.associated_data(attribute), row.attribute_values.get(attribute, b"")
    ).decode()


def unseal(row: Row, attribute: str) -> Document:
    """Return the document in an item's encrypted attribute. Raise DecryptionError or UnknownLayout."""
    document: Document = json.loads(unseal_text(row, attribute))
    return document


class SealedRow(Row):
    """An item with one encrypted document."""

    document = BinaryAttribute(legacy_encoding=False)

    def seal(self, document: Document) -> None:
        """Replace the document, without saving the row. Raise TooLarge as the function `seal` does."""
        self.document = seal(self, "document", document)

    def open(self) -> Document:
        """Return the decrypted document."""
        return unseal(self, "document")

    def text(self) -> str:
        """Return the JSON text of the decrypted document, for a response that returns it unchanged."""
        return unseal_text(self, "document")


class DocumentRow(SealedRow, VersionedRow):
    """An item with one encrypted document, written with optimistic locking."""


def _exceeds_json_limit(payload: bytes) -> bool:
    # Escaping at most triples the size of a JSON text, so only large documents have to be escaped to measure them.
    return len(payload) * 3 > _JSON_LIMIT and len(json.dumps(payload.decode())) > _JSON_LIMIT
