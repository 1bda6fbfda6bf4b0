"""Tool calls: the request that an agent sends to a tool's server, and tests of that request (docs/guide.md).

A test result contains no secrets. The returned request is built from the tool with masked secret members. Because the
response may echo the request, each secret in the response is also masked.
"""

import codecs
import json
import re
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import quote, quote_plus, urlencode

from chalicelib import errors, storage
from chalicelib.sending import sender
from chalicelib.sending.addresses import MAX_URL
from chalicelib.sending.response import MAX_BODY, Response
from chalicelib.storage import Document

# Timeout for the whole call, in seconds. API Gateway waits for 29 s. However, the commit of an `Idempotency-Key`
# follows the call, and must start within 18 s of the request (`storage.seconds_left`).
DEADLINE_SECONDS = 10.0
# Maximum bytes of the response body in the result. More bytes are read, because masks are shorter than secrets.
MAX_SHOWN = 64 * 1024
SECRET_HEADER = "X-Tool-Secret"  # noqa: S105 - the name of a header
MASK = "***"
_MASK = MASK.encode()

_METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")
_PLACES = ("query", "header", "path", "body")
_PLACEHOLDER = re.compile(r"\{([^{}]+)\}")
# Maximum fields per tool, to limit the time that masking takes.
_MAX_FIELDS = 100
# Minimum length of field values that are masked in responses. Shorter values are often words such as `en`.
_SHORTEST = 8


class NotCallable(errors.Conflict):
    """The stored tool cannot be called."""

    code = "NOT_CALLABLE"
    sentence = "tool.serverUrl must be set for a call; change the tool first."


def call(tool: Document, arguments: Mapping[str, Any]) -> Document:
    """Call a tool's server once, and return the request, the response and the error as `models.ToolTest`.

    `error` is the reason for a missing or incomplete response, such as a blocked address or a timeout. Raise
    NotCallable if the tool cannot be called, and Invalid if it cannot be called with these arguments.
    """
    masked_tool, response = _with_masks(tool), Response()
    request, masked_request = build_request(tool, arguments), build_request(masked_tool, arguments)
    deadline = min(DEADLINE_SECONDS, storage.seconds_left())
    _, error, duration_ms = sender.send(request, response.read, deadline)
    received = {"response": _render_response(response, _find_secrets(tool, masked_tool))} if response.status else {}
    return {"request": _render_request(masked_request), **received, "durationMs": duration_ms, "error": error}


def build_request(tool: Document, arguments: Mapping[str, Any]) -> sender.Request:
    """Return the request for a call. Raise NotCallable for an unsuitable tool, and Invalid for unsuitable arguments."""
    method = (tool.get("method") or "GET").upper()
    if method not in _METHODS:
        raise NotCallable(f"tool.method must be one of {', '.join(_METHODS)} for a call.")
    if not tool.get("serverUrl"):
        raise NotCallable()
    if len(tool.get("fields") or ()) > _MAX_FIELDS:
        raise NotCallable(f"tool.fields must have at most {_MAX_FIELDS} entries for a call.")
    default_place = "query" if method in ("GET", "DELETE") else "body"
    values = _place(tool.get("fields") or [], arguments, default_place)
    headers = {name: _text(value) for name, value in values["header"].items()}
    if secret := tool.get("serverUrlSecret"):
        headers[SECRET_HEADER] = secret
    body = storage.encode_json(values["body"]) if values["body"] or default_place == "body" else None
    return sender.Request(method, _url(tool["serverUrl"], values), headers, body, "cams-tools")


def _place(fields: list[Document], arguments: Mapping[str, Any], default_place: str) -> dict[str, Document]:
    """Return a call's values by place and key. An argument without a field goes to `default_place`."""
    named = {field.get("key") for field in fields}
    values: dict[str, Document] = {place: {} for place in _PLACES}
    values[default_place] = {key: value for key, value in arguments.items() if key not in named and value is not None}
    for number, field in enumerate(fields):
        key, place = field.get("key"), field.get("in") or default_place
        if not key:
            continue
        if place not in _PLACES:
            raise NotCallable(f"tool.fields.{number}.in must be one of {', '.join(_PLACES)} for a call.")
        candidates = (field.get("value"), arguments.get(key), field.get("defaultValue"))
        value = next((candidate for candidate in candidates if candidate is not None), None)
        if value is not None:
            values[place][key] = value
        elif field.get("required"):
            raise errors.Invalid.member(f"arguments.{key[:64]}", "is required by the tool")
    return values


def _url(url: str, values: dict[str, Document]) -> str:
    path_values = {key: quote(_text(value), safe="*") for key, value in values["path"].items()}
    # The length is limited because a short URL template can repeat a long value.
    if long := next((key for key, value in path_values.items() if len(value) > MAX_URL), None):
        raise errors.Invalid.member(f"arguments.{long[:64]}", f"must have at most {MAX_URL} characters in a path")
    # Servers resolve these segments, so an argument could lead to another path.
    if dots := next((key for key, value in path_values.items() if value in (".", "..")), None):
        raise errors.Invalid.member(f"arguments.{dots[:64]}", "must not be . or .. in a path")
    if len(url) <= MAX_URL:
        url = _PLACEHOLDER.sub(lambda match: path_values.get(match[1], match[0]), url)
    query = urlencode({key: _text(value) for key, value in values["query"].items()}, safe="*")
    return f"{url}{'&' if '?' in url else '?'}{query}" if query else url


def _text(value: Any) -> str:
    """Return a value for a URL or a header: text is unchanged, and any other value becomes JSON."""
    return value if isinstance(value, str) else storage.encode_json(value).decode()


def _with_masks(tool: Document) -> Document:
    """Return the tool with each value of a secret member masked."""
    from chalicelib.tools import models

    masked_tool = _mask(models.Tool, tool)
    if tool.get("fields"):
        masked_tool["fields"] = [_mask(models.ToolField, field) for field in tool["fields"]]
    return masked_tool


def _mask(model: Any, record: Document) -> Document:
    from chalicelib.http import projections

    secret = projections.secret_members(model)
    return {name: MASK if name in secret and value is not None else value for name, value in record.items()}


def _find_secrets(tool: Document, masked_tool: Document) -> list[bytes]:
    """Return a tool's secrets in all encodings that a response may echo, longest first."""
    spellings = {spelling for text in _secrets(tool, masked_tool) for spelling in _spellings(text)}
    return sorted(spellings, key=lambda spelling: (-len(spelling), spelling))


def _secrets(tool: Document, masked_tool: Document) -> Iterator[str]:
    if secret := tool.get("serverUrlSecret"):
        yield secret
    for field, hidden in zip(tool.get("fields") or (), masked_tool.get("fields") or (), strict=True):
        for name in (name for name in field if hidden[name] != field[name]):
            text = _text(field[name])
            # A response may echo only the part after `Bearer`.
            yield from (part for part in {text, text.rpartition(" ")[2]} if len(part) >= _SHORTEST)


def _spellings(text: str) -> Iterator[bytes]:
    raw = text.encode()
    yield raw
    yield json.dumps(text)[1:-1].encode()
    yield json.dumps(text, ensure_ascii=False)[1:-1].encode()
    yield quote(text, safe="").encode()
    yield quote_plus(text).encode()
    yield b64encode(raw).rstrip(b"=")
    yield urlsafe_b64encode(raw).rstrip(b"=")


def _render_request(request: sender.Request) -> Document:
    rendered = {"method": request.method, "url": request.url, "headers": dict(request.headers)}
    return rendered if request.body is None else {**rendered, "body": request.body.decode()}


def _render_response(response: Response, secrets: list[bytes]) -> Document:
    """Return the received part of the response, with secrets masked. A repeated header's values are joined."""
    headers: dict[str, list[str]] = {}
    block = _hide(b"\n".join(b":".join(header) for header in response.headers), secrets)
    for line in block.decode("latin-1").split("\n") if block else ():
        name, _, value = line.partition(":")
        headers.setdefault(name.lower(), []).append(value)
    joined = {name: ", ".join(values) for name, values in headers.items()}
    return {"status": response.status, "headers": joined, **_render_body(bytes(response.body), secrets)}


def _render_body(raw: bytes, secrets: list[bytes]) -> Document:
    masked, is_cut = _hide(raw, secrets), len(raw) == MAX_BODY
    if is_cut and secrets:
        masked = masked[: -len(secrets[0])]  # the text may end in the middle of a secret
    beginning, is_truncated = masked[:MAX_SHOWN], is_cut or len(masked) > MAX_SHOWN
    try:
        body = codecs.getincrementaldecoder("utf-8")().decode(beginning, final=not is_truncated)
    except UnicodeDecodeError:
        return {"body": b64encode(beginning).decode(), "isBase64": True, "isTruncated": is_truncated}
    return {"body": body, "isBase64": False, "isTruncated": is_truncated}


def _hide(raw: bytes, secrets: list[bytes]) -> bytes:
    # Secrets are replaced one at a time, because a regular expression is slow if many secrets share a prefix.
    for secret in secrets:
        raw = raw.replace(secret, _MASK)
    return raw
