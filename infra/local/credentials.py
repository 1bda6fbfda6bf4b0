"""The engine's credentials. Each request must contain the random access key.

Any process and any web page on the machine can reach a port on 127.0.0.1. Therefore, the credentials are stored in the
state directory, which only its owner can read. The credentials never change, so a shell that has loaded `environment`
still works after a restart. The access key alone identifies the owner. SDKs need the secret key to sign requests, but
the engine does not check signatures.
"""

from __future__ import annotations

import hmac
import json
import secrets
from pathlib import Path
from typing import NamedTuple

from infra.local import state

_FILE = "engine.credentials"


class Credentials(NamedTuple):
    """An access key and its secret."""

    access_key: str
    secret_key: str

    def __repr__(self) -> str:
        return "Credentials()"

    def are_in(self, authorization: str) -> bool:
        """Return whether an AWS Signature Version 4 `Authorization` header contains the access key."""
        named = authorization.removeprefix("AWS4-HMAC-SHA256 Credential=").partition("/")[0]
        return hmac.compare_digest(named.encode(), self.access_key.encode())


def find_or_create(directory: Path) -> Credentials:
    """Return a state directory's credentials. Create them if they are missing."""
    path = directory / _FILE
    if path.exists():
        return Credentials(*json.loads(path.read_text(encoding="ascii")))
    # The key does not have 12 digits, which MiniStack would interpret as an account.
    created = Credentials(f"LOCAL{secrets.token_hex(16).upper()}", secrets.token_urlsafe(30))
    state.write(path, json.dumps(created))
    return created
