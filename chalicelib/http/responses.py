"""Builds responses: the success envelope (§2.1) and the response size limit."""

import json
from collections.abc import Sequence
from typing import Any

from chalice.app import Response

from chalicelib import errors, storage
from chalicelib.http import current_request

# Limits in bytes. A Lambda response is limited to 6 MB. `ENVELOPE` leaves room for the headers, and for an envelope
# with 20 warnings about the longest paths.
RESPONSE_LIMIT = 6_000_000
ENVELOPE = 20_000
_JSON = {"Content-Type": "application/json"}


def json_response(body: dict[str, Any]) -> Response:
    """Return a response with a JSON object and status 200. Raise TooLarge above `RESPONSE_LIMIT`."""
    return text_response(storage.encode_json(body).decode())


def text_response(text: str) -> Response:
    """Return a response with a serialised JSON object. Chalice's serialiser would escape every non-ASCII character.

    Raise TooLarge above `RESPONSE_LIMIT`.
    """
    # Only responses to list requests without `limit` can exceed the size.
    if not fits(text):
        raise too_large()
    return Response(text, headers=dict(_JSON))


def too_large() -> errors.TooLarge:
    """Return the error for a list that does not fit in a response."""
    return errors.TooLarge("The response is too large; request it in pages with limit.")


def success(message: str, data: Any = None, warnings: Sequence[errors.MemberIssue] = ()) -> Response:
    """Return the success envelope (§2.1), without `data` if it is None."""
    body = success_members(message, warnings)
    return json_response(body if data is None else {**body, "data": data})


def success_members(message: str, warnings: Sequence[errors.MemberIssue] = ()) -> dict[str, Any]:
    """Return the members of the success envelope other than `data`. `warnings` are added to the body's warnings."""
    issues = [*current_request.warnings(), *warnings]
    return {"success": True, "message": message} | ({"warnings": issues} if issues else {})


def listing(message: str, data: list[Any], next_cursor: str | None) -> Response:
    """Return a list's success envelope, with `nextCursor` unless this is the last page."""
    body: dict[str, Any] = {"success": True, "message": message, "data": data}
    return json_response({**body, "nextCursor": next_cursor} if next_cursor else body)


def fits(text: str, room: int = 0) -> bool:
    """Return whether a JSON text plus `room` bytes fit in a response, which Lambda encodes as a JSON string."""
    # JSON contains no unescaped control characters. Escaping at most doubles the size of ASCII, and turns other
    # characters into up to 12 bytes.
    longest = len(text) * (2 if text.isascii() else 12)
    return longest < RESPONSE_LIMIT - room or len(json.dumps(text)) < RESPONSE_LIMIT - room
