"""The engine's credentials, and the check that a request is signed with them (AWS Signature Version 4).

Any process and any web page on the machine can reach a port on 127.0.0.1. The credentials are in the state directory,
which only its owner can read. They stay the same as long as it exists, so a shell that has loaded `environment` goes on
working after a restart. A date is not checked: the clock of a process may be fixed.
"""

from __future__ import annotations

import hmac
import json
import re
import secrets
from pathlib import Path
from typing import NamedTuple

from botocore import auth, credentials
from botocore.awsrequest import AWSRequest

_FILE = "engine.credentials"
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<access_key>[^/,]+)/\d{8}/(?P<region>[^/,]+)/(?P<service>[^/,]+)/aws4_request, ?"
    r"SignedHeaders=(?P<names>[a-z0-9;-]+), ?Signature=(?P<signature>[0-9a-f]{64})"
)


class Credentials(NamedTuple):
    """An access key and its secret."""

    access_key: str
    secret_key: str

    def __repr__(self) -> str:
        return f"Credentials({self.access_key})"


def find_or_create(directory: Path) -> Credentials:
    """Return the credentials of a state directory."""
    path = directory / _FILE
    try:
        return Credentials(*json.loads(path.read_text(encoding="ascii")))
    except FileNotFoundError:
        # Not 12 digits: MiniStack would take those for an account.
        created = Credentials(f"LOCAL{secrets.token_hex(8).upper()}", secrets.token_urlsafe(30))
    path.touch(mode=0o600)
    path.write_text(json.dumps(created), encoding="ascii")
    return created


def is_signed(method: str, target: str, headers: dict[str, str], body: bytes, by: Credentials) -> bool:
    """Return whether these credentials signed the request, with its body. `target` is path and query as sent."""
    match = _AUTHORIZATION.fullmatch(headers.get("authorization", ""))
    names = set(match["names"].split(";")) if match else set()
    if match is None or match["access_key"] != by.access_key or not headers.keys() >= names >= {"host", "x-amz-date"}:
        return False
    signer = auth.SigV4Auth(credentials.Credentials(*by), match["service"], match["region"])
    request = AWSRequest(method, f"http://{headers['host']}{target}", {name: headers[name] for name in names}, body)
    request.context["timestamp"] = headers["x-amz-date"]
    signature = signer.signature(signer.string_to_sign(request, signer.canonical_request(request)), request)
    return hmac.compare_digest(signature, match["signature"])
