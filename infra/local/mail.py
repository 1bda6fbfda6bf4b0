"""SES in the local run: each email is written to a file in the state's folder `mail`, which an email program can open.

MiniStack's own SES requires verified senders, and loses headers. This handler supports only `SendRawEmail`.
"""

from __future__ import annotations

import base64
import binascii
import time
import uuid
from pathlib import Path
from types import ModuleType
from typing import Any
from urllib.parse import parse_qs

FOLDER = "mail"
_HEADERS = {"content-type": "text/xml"}
_NAMESPACE = "http://ses.amazonaws.com/doc/2010-12-01/"

Answer = tuple[int, dict[str, str], bytes]


def install(module: ModuleType, state: Path) -> None:
    """Make MiniStack's SES module write emails to the state folder."""

    async def handle_request(_: str, __: str, ___: dict[str, str], body: bytes, ____: dict[str, Any]) -> Answer:
        fields = parse_qs(body.decode("utf-8", "replace"))
        try:
            content = base64.b64decode(fields["RawMessage.Data"][0], validate=True)
        except (KeyError, binascii.Error):
            return 400, _HEADERS, _xml("ErrorResponse", "<Error><Code>InvalidAction</Code></Error>")
        name = f"{time.strftime('%Y-%m-%d-%H%M%S', time.gmtime())}-{uuid.uuid4().hex[:8]}"
        _write(state / FOLDER, name, content)
        result = f"<SendRawEmailResult><MessageId>{name}</MessageId></SendRawEmailResult>"
        return 200, _HEADERS, _xml("SendRawEmailResponse", result)

    vars(module)["handle_request"] = handle_request


def _write(folder: Path, name: str, content: bytes) -> None:
    folder.mkdir(mode=0o700, exist_ok=True)
    # The file is renamed when it is complete.
    partial = folder / f".{name}"
    partial.touch(mode=0o600)
    partial.write_bytes(content)
    partial.rename(folder / f"{name}.eml")


def _xml(root: str, content: str) -> bytes:
    metadata = "<ResponseMetadata><RequestId>local</RequestId></ResponseMetadata>"
    return f'<{root} xmlns="{_NAMESPACE}">{content}{metadata}</{root}>'.encode()
