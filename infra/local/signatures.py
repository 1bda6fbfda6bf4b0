"""The engine's credentials, and the check that a request is signed with them (AWS Signature Version 4).

Any process and any web page on the machine can reach a port on 127.0.0.1. The credentials are in the state directory,
which only its owner can read. They stay the same as long as it exists, so a shell that has loaded `environment` goes on
working after a restart. A date is not checked: the clock of a process may be fixed.
"""

from __future__ import annotations

import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import quote

_FILE = "engine.credentials"
_AUTHORIZATION = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<access_key>[^/,]+)/"
    r"(?P<scope>(?P<date>\d{8})/(?P<region>[^/,]+)/(?P<service>[^/,]+)/aws4_request), ?"
    r"SignedHeaders=(?P<signed>[a-z0-9;-]+), ?Signature=(?P<signature>[0-9a-f]{64})"
)

Headers = Iterable[tuple[bytes, bytes]]


class Credentials(NamedTuple):
    """An access key and its secret."""

    access_key: str
    secret_key: str

    def __repr__(self) -> str:
        return f"Credentials({self.access_key})"


class Request(NamedTuple):
    """What a signature covers. `path` and `query` are as sent; the names of the headers are in lower case."""

    method: str
    path: str
    query: str
    headers: Headers
    body: bytes


def find_or_create(directory: Path) -> Credentials:
    """The credentials of a state directory."""
    path = directory / _FILE
    try:
        return Credentials(*json.loads(path.read_text(encoding="ascii")))
    except FileNotFoundError:
        # Not 12 digits: MiniStack would take those for an account.
        created = Credentials(f"LOCAL{secrets.token_hex(8).upper()}", secrets.token_urlsafe(30))
    path.touch(mode=0o600)
    path.write_text(json.dumps(created), encoding="ascii")
    return created


def is_signed(request: Request, credentials: Credentials) -> bool:
    """Whether these credentials signed the request, with its body."""
    headers: dict[str, str] = {}
    for name, value in request.headers:
        text = " ".join(value.decode("latin-1").split())
        headers[name.decode()] = f"{headers[name.decode()]},{text}" if name.decode() in headers else text
    authorization = _AUTHORIZATION.fullmatch(headers.get("authorization", ""))
    if authorization is None or authorization["access_key"] != credentials.access_key:
        return False
    signed = authorization["signed"].split(";")
    if "host" not in signed or not headers.keys() >= set(signed):
        return False
    canonical = "\n".join(
        (
            request.method,
            quote(request.path, safe="/-_.~"),
            "&".join(sorted(request.query.split("&"))),
            *(f"{name}:{headers[name]}" for name in signed),
            "",
            authorization["signed"],
            hashlib.sha256(request.body).hexdigest(),
        )
    )
    digest = hashlib.sha256(canonical.encode("latin-1")).hexdigest()
    text = f"AWS4-HMAC-SHA256\n{headers.get('x-amz-date', '')}\n{authorization['scope']}\n{digest}"
    key = _signing_key(credentials.secret_key, authorization["date"], authorization["region"], authorization["service"])
    return hmac.compare_digest(hmac.new(key, text.encode("latin-1"), "sha256").hexdigest(), authorization["signature"])


@lru_cache(maxsize=64)
def _signing_key(secret_key: str, *parts: str) -> bytes:
    key = f"AWS4{secret_key}".encode()
    for part in (*parts, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key
