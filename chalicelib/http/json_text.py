"""Composes responses, without parsing, from JSON texts in the format that `storage.encode_json` returns."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from chalice.app import Response

from chalicelib import errors, storage
from chalicelib.http import responses


def success(message: str, text: str, warnings: Sequence[errors.MemberIssue] = ()) -> Response:
    """Return the success envelope for a record's JSON text. `warnings` are added to the body's warnings."""
    opening = storage.encode_json(responses.success_members(message, warnings)).decode().removesuffix("}")
    return responses.text_response(f'{opening},"data":{text}}}')


def list_response(message: str, records: list[str], next_cursor: str | None, **members: Any) -> Response:
    """Return the envelope for a list of records as JSON texts, with `nextCursor` unless this is the last page.

    `members` are added to the envelope.
    """
    start = storage.encode_json({"success": True, "message": message, **members}).decode()[:-1]
    end = f',"nextCursor":{json.dumps(next_cursor)}' if next_cursor else ""
    return responses.text_response(f'{start},"data":[{",".join(records)}]{end}}}')


def with_members(members: dict[str, Any], text: str) -> str:
    """Return the JSON text of an object that contains `members`, then the members of the object `text`.

    `members` must not be empty or share a name with `text`. `text` is not parsed, and is in the format that
    `storage.encode_json` returns.
    """
    start = storage.encode_json(members).decode()
    return start if text == "{}" else f"{start.removesuffix('}')},{text[1:]}"


def with_list(text: str, name: str, items: Iterable[str]) -> str | None:
    """Return the JSON text of an object: the members of `text`, as in `with_members`, then a list of JSON texts.

    If the object does not fit in a response, return None without reading all `items`.
    """
    elements: list[str] = []
    size = len(text)
    for item in items:
        elements.append(item)
        size += len(item)
        if size > responses.RESPONSE_LIMIT:
            return None
    result = f'{text.removesuffix("}")},"{name}":[{",".join(elements)}]}}'
    return result if responses.fits(result, responses.ENVELOPE) else None


def take_fitting(records: Iterable[dict[str, Any]]) -> Iterator[str]:
    """Yield the longest prefix of `records` that fits in a response, as JSON. The first record always fits.

    Stop reading after the first record that does not fit.
    """
    size = 0
    for number, record in enumerate(records):
        text = storage.encode_json(record).decode()
        size += len(json.dumps(text))
        if number and size > responses.RESPONSE_LIMIT - responses.ENVELOPE:
            return
        yield text
