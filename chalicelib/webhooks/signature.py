"""The signature that a receiver can check, as Standard Webhooks 1.0.0 defines it (scheme `v1`).

HMAC-SHA256 over `<id>.<timestamp>.<body>`; https://github.com/standard-webhooks/standard-webhooks.
Not responsible for `workspaceSecret`, which is a member of the body (§6 rule 5), nor for keeping secrets.
"""

import hmac
from base64 import b64decode, b64encode
from collections.abc import Sequence

from chalicelib import ids

_PREFIX = "whsec_"


def new_secret() -> str:
    """A new signing secret: 32 random bytes, as the standard wants them."""
    return _PREFIX + b64encode(ids.random_bytes(32)).decode()


def sign(secrets: Sequence[str], message_id: str, timestamp: int, body: bytes) -> dict[str, str]:
    """The three headers of one delivery at `timestamp` (Unix seconds), with a signature for each secret.

    While a secret is being replaced there are two, the new one first: a receiver accepts what either of them made.
    """
    signed = b"%s.%d.%s" % (message_id.encode(), timestamp, body)
    # Not `hmac.digest`: a third slower for so little, and it lets another thread run at each call.
    signatures = [b64encode(hmac.new(_key(secret), signed, "sha256").digest()).decode() for secret in secrets]
    return {
        "webhook-id": message_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(f"v1,{signature}" for signature in signatures),
    }


def _key(secret: str) -> bytes:
    return b64decode(secret.removeprefix(_PREFIX), validate=True)
