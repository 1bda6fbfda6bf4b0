"""Signatures that a receiver can verify: Standard Webhooks 1.0.0, scheme `v1`.

A signature is HMAC-SHA256 over `<id>.<timestamp>.<body>`: https://github.com/standard-webhooks/standard-webhooks.
This module does not store secrets, and does not put `workspaceSecret` into the body (§6 rule 5).
"""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Sequence

from chalicelib import ids

# The header that contains a received message's id, percent-encoded. It is not signed.
MESSAGE_ID = "cams-message-id"
_PREFIX = "whsec_"


def new_secret() -> str:
    """Return a new signing secret: `whsec_` and 32 random bytes in base64."""
    return _PREFIX + b64encode(ids.random_bytes(32)).decode()


def sign(secrets: Sequence[str], message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """Return the three headers for a delivery at `timestamp` (Unix seconds), with one signature per secret.

    During a rotation, there are several secrets, newest first, and a receiver accepts a signature made with any of
    them. Raise ValueError for a secret that is not base64.
    """
    signed = b"%s.%d.%s" % (message_id.encode(), timestamp, body)
    # `hmac.digest` is a third slower on bodies this small, and releases the GIL on each call.
    signatures = [b64encode(hmac.new(_key(secret), signed, "sha256").digest()).decode() for secret in secrets]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }


def _key(secret: str) -> bytes:
    return b64decode(secret.removeprefix(_PREFIX), validate=True)
