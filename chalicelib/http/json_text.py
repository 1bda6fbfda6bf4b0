"""Composes responses from JSON texts without parsing them. All texts have the form of `storage.encode_json`."""

import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from chalice.app import Response

from chalicelib import errors, storage
from chalicelib.http import responses


def success(message: str, text: str, warnings: Sequence[errors.MemberIssue] = ()) -> Response:
    """Return the success envelope for a record with this JSON text. `warnings` are added to the body's warnings."""
    opening = storage.encode_json(responses.success_members(message, warnings)).decode().removesuffix("}")
    return responses.text_response(f'{opening},"data":{text}}}')


def list_response(message: str, records: list[str], next_cursor: str | None, **members: Any) -> Response:
    """Return the envelope for a list of JSON text records, with `nextCursor` unless it is the last page.

    `members` are further members of the envelope.
    """
    start = storage.encode_json({"success": True, "message": message, **members}).decode()[:-1]
    end = f',"nextCursor":{json.dumps(next_cursor)}' if next_cursor else ""
    return responses.text_response(f'{start},"data":[{",".join(records)}]{end}}}')


def with_members(members: dict[str, Any], text: str) -> str:
    """Return the JSON text of an object: `members`, then the members in `text`, an object that is not parsed.

    `members` is not empty and shares no name with `text`, which has the form of `storage.encode_json`.
    """
    start = storage.encode_json(members).decode()
    return start if text == "{}" else f"{start.removesuffix('}')},{text[1:]}"


def with_list(text: str, name: str, items: Iterable[str]) -> str | None:
    """Return the JSON text of an object: the members in `text`, as in `with_members`, then a list of JSON texts.

    Return None if the object does not fit in a response, without reading all `items`.
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
