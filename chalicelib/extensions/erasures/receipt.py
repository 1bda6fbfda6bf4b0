"""Erasure receipts: counts, a hash, and a signature by the stage's own KMS key.

The canonical text is ASCII JSON with sorted names and without white space, so that any tool can reproduce it.
"""

import base64
import hashlib
import json

from botocore.exceptions import BotoCoreError, ClientError

from chalicelib import clock, errors, storage
from chalicelib.storage import Document

_STREAM_SECONDS = 24 * 60 * 60  # how long DynamoDB keeps stream records
_ALGORITHM = "ECDSA_SHA_256"


def key_alias() -> str:
    """Return the alias of the KMS key that signs receipts."""
    return f"alias/{storage.table('receipts')}"


def sign(workspace_id: str, erasure_id: str, requested_at: int, counts: Document) -> Document:
    """Return the signed receipt for an erasure that is now complete. This costs one KMS request. Raise Unavailable."""
    now = clock.seconds()
    receipt = {
        "erasureId": erasure_id,
        "workspaceId": workspace_id,
        "requestedAt": clock.iso(requested_at),
        "completedAt": clock.iso(now),
        "streamsUntil": clock.iso(now + _STREAM_SECONDS),
        "counts": counts,
    }
    text = canonical(receipt)
    return {**receipt, "hash": hashlib.sha256(text).hexdigest(), "signature": _signature(text)}


def canonical(receipt: Document) -> bytes:
    """Return the receipt text that is hashed and signed."""
    signed = {name: value for name, value in receipt.items() if name not in ("hash", "signature")}
    return json.dumps(signed, sort_keys=True, separators=(",", ":")).encode()


def _signature(text: bytes) -> str:
    try:
        response = storage.sdk_client("kms").sign(
            KeyId=key_alias(), Message=text, MessageType="RAW", SigningAlgorithm=_ALGORITHM
        )
    except (BotoCoreError, ClientError) as error:
        raise errors.Unavailable("The receipt cannot be signed; the queue will try again.") from error
    return base64.b64encode(response["Signature"]).decode()
