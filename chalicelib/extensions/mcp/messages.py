"""JSON-RPC messages in both eras of the protocol: parsing, checks, and responses.

Since 2026-07-28, each request contains its protocol version and there is no handshake. Earlier versions begin with
`initialize`. See https://modelcontextprotocol.io/specification/.
"""

import base64
import json
from typing import Any, NamedTuple

from chalice.app import Request, Response

from chalicelib.http import bodies
from chalicelib.http.operation import MAX_BODY_BYTES, MAX_BODY_VALUES

MODERN = "2026-07-28"
HANDSHAKE_VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26")
"""The supported versions with a handshake, newest first."""

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
_HEADER_MISMATCH, _UNSUPPORTED_VERSION = -32020, -32022
_NAMESPACE = "io.modelcontextprotocol"
_VERSION, _CAPABILITIES = f"{_NAMESPACE}/protocolVersion", f"{_NAMESPACE}/clientCapabilities"
SERVER_INFO = f"{_NAMESPACE}/serverInfo"
_MOST_ID_CHARACTERS = 200


class MessageError(Exception):
    """A JSON-RPC error with its HTTP status. Clients with a handshake expect status 200, except for invalid JSON."""

    def __init__(self, code: int, message: str, status: int = 400, data: dict[str, Any] | None = None) -> None:
        super().__init__(message)
        self.code, self.message, self.status, self.data = code, message, status, data


class RpcMessage(NamedTuple):
    """A request, or a notification or response if `id` is None."""

    id: str | int | None
    method: str
    params: dict[str, Any]
    is_modern: bool


def parse(request: Request) -> RpcMessage:
    """Return a request's message. Raise MessageError for anything else, and TooLarge."""
    raw = request.raw_body if isinstance(request.raw_body, bytes) else request.raw_body.encode()
    bodies.check_size("The body", raw, MAX_BODY_BYTES, MAX_BODY_VALUES)
    try:
        body = json.loads(raw, parse_constant=_reject)
    except (ValueError, RecursionError):
        raise MessageError(PARSE_ERROR, "The body is not valid JSON.") from None
    if not isinstance(body, dict) or body.get("jsonrpc") != "2.0":
        raise MessageError(INVALID_REQUEST, 'The body must be one JSON-RPC object with "jsonrpc": "2.0".')
    method, params = body.get("method"), body.get("params", {})
    if method is None and ("result" in body or "error" in body):
        return RpcMessage(None, "", {}, is_modern=False)
    if not isinstance(method, str) or not isinstance(params, dict):
        raise MessageError(INVALID_REQUEST, "method must be a string, and params must be an object.")
    return RpcMessage(_id(body), method, params, _is_modern(request, params))


def check(request: Request, message: RpcMessage) -> None:
    """Check what the modern era requires of a request, in the order of the specification. Raise MessageError."""
    meta = message.params.get("_meta")
    if not isinstance(meta, dict) or not isinstance(meta.get(_VERSION), str) or _CAPABILITIES not in meta:
        raise MessageError(INVALID_PARAMS, f"params._meta must contain {_VERSION} and {_CAPABILITIES}.")
    version = meta[_VERSION]
    expected = {"MCP-Protocol-Version": version, "Mcp-Method": message.method}
    if message.method == "tools/call" and isinstance(message.params.get("name"), str):
        expected["Mcp-Name"] = message.params["name"]
    for name, value in expected.items():
        if _decoded(request.headers.get(name, "")) != value:
            raise MessageError(_HEADER_MISMATCH, f"The header {name} must be equal to its value in the body.")
    if version != MODERN:
        data = {"supported": list(supported_versions()), "requested": version}
        raise MessageError(_UNSUPPORTED_VERSION, "The protocol version is not supported.", data=data)


def supported_versions() -> tuple[str, ...]:
    """Return all supported versions, newest first."""
    return (MODERN, *HANDSHAKE_VERSIONS)


def success(message: RpcMessage, result: dict[str, Any], server: dict[str, str]) -> Response:
    """Return the response with a request's result. In the modern era, the result includes the server's name."""
    if message.is_modern:
        result = {"resultType": "complete", **result, "_meta": {SERVER_INFO: server}}
    return _response({"jsonrpc": "2.0", "id": message.id, "result": result}, 200)


def failure(message: RpcMessage | None, error: MessageError) -> Response:
    """Return the response with an error. `message` is None if it could not be parsed."""
    described = {"code": error.code, "message": error.message, **({"data": error.data} if error.data else {})}
    status = 200 if message is not None and not message.is_modern else error.status
    return _response({"jsonrpc": "2.0", "id": message and message.id, "error": described}, status)


def _response(body: dict[str, Any], status: int) -> Response:
    # The serialiser escapes all characters other than ASCII, because an id may contain half of a surrogate pair.
    return Response(json.dumps(body, separators=(",", ":")), {"Content-Type": "application/json"}, status)


def _id(body: dict[str, Any]) -> str | int | None:
    if "id" not in body:
        return None
    number_or_text = body["id"]
    is_valid = isinstance(number_or_text, (str, int)) and not isinstance(number_or_text, bool)
    if not is_valid or len(str(number_or_text)) > _MOST_ID_CHARACTERS:
        raise MessageError(INVALID_REQUEST, f"id must be a number or up to {_MOST_ID_CHARACTERS} characters.")
    return number_or_text  # type: ignore[no-any-return]


def _is_modern(request: Request, params: dict[str, Any]) -> bool:
    version, meta = request.headers.get("MCP-Protocol-Version"), params.get("_meta")
    in_header = version is not None and version.strip() not in HANDSHAKE_VERSIONS
    return in_header or (isinstance(meta, dict) and _VERSION in meta)


def _decoded(value: str) -> str:
    """Return a header's value without the encoding that the protocol uses for other characters than ASCII."""
    value = value.strip()
    if not (value.startswith("=?base64?") and value.endswith("?=")):
        return value
    try:
        return base64.b64decode(value[9:-2], validate=True).decode()
    except ValueError:
        return value


def _reject(_: str) -> None:
    raise ValueError
