"""Form fields for records: their values in a record, and the change that a submitted form makes."""

import json
import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from chalicelib.extensions.console.presentation import template_filters
from chalicelib.storage import Document

# The kinds of fields. TEXTS shows one input per text, and LINES one line per text. Empty texts are dropped.
TEXT, LONG, NUMBER, FLAG, TEXTS, LINES = "text", "long", "number", "flag", "texts", "lines"
_TEXT_BYTES = 250  # the HTML tags around each text
_NUMBER = re.compile(r"[0-9]{1,5}")


class Field(NamedTuple):
    """A form field: its member's dotted path, and its kind."""

    path: str
    kind: str


class FieldsThatFit(NamedTuple):
    """The fields that fit on a page, the paths of the others, and the number of bytes left."""

    fields: list[Field]
    left_out: list[str]
    left: int


def fields_that_fit(fields: Sequence[Field], record: Document, max_bytes: int) -> FieldsThatFit:
    """Return the fields that a form shows, up to `max_bytes` as HTML. A form never shows part of a value."""
    selected: list[Field] = []
    left_out: list[Field] = []
    for field in fields:
        value = _value(field, at(record, field.path))
        size = sum(_TEXT_BYTES + template_filters.size(text) for text in ([value] if isinstance(value, str) else value))
        (selected if size <= max_bytes else left_out).append(field)
        max_bytes -= size if size <= max_bytes else 0
    return FieldsThatFit(selected, [field.path for field in left_out], max_bytes)


def values(fields: Sequence[Field], record: Document) -> dict[str, Any]:
    """Return a record's field values by field name. A value is a text, or a list of texts for the kind TEXTS."""
    return {field.path: _value(field, at(record, field.path)) for field in fields}


def submitted_values(fields: Sequence[Field], sent: dict[str, str]) -> dict[str, Any]:
    """Return the submitted values, in the format that `values` returns. Convert the browser's CRLF line breaks.

    Omit fields that were not in the form, so that a save keeps their members.
    """
    plain = {name: value.replace("\r\n", "\n") for name, value in sent.items()}
    return {
        field.path: _texts(plain, field.path) if field.kind == TEXTS else plain.get(field.path, "")
        for field in fields
        if _was_sent(field, plain)
    }


def change(fields: Sequence[Field], record: Document, submitted: dict[str, Any]) -> Document:
    """Return the members whose submitted values differ from the record's. None clears a member."""
    before = values(fields, record)
    changed: Document = {}
    for field in fields:
        if field.path in submitted and submitted[field.path] != _plain(before[field.path]):
            _put(changed, field.path, _parse(field, submitted[field.path]))
    return changed


def at(document: Document, path: str) -> Any:
    """Return the value at a dotted path, or None if it is absent."""
    first, _, below = path.partition(".")
    inner = document.get(first)
    return inner if not below else at(inner, below) if isinstance(inner, dict) else None


def _value(field: Field, value: Any) -> Any:
    if field.kind in (TEXTS, LINES):
        texts = [text for text in value if isinstance(text, str)] if isinstance(value, list) else []
        return texts if field.kind == TEXTS else "\n".join(texts)
    if field.kind == FLAG:
        return "on" if value else ""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value)


def _plain(value: Any) -> Any:
    if isinstance(value, list):
        return [_plain(text) for text in value if text.strip()]
    return value.replace("\r\n", "\n")


def _was_sent(field: Field, sent: dict[str, str]) -> bool:
    """Return whether the field was in the form. Browsers omit only unchecked check boxes."""
    is_list = field.kind == TEXTS and any(name.startswith(f"{field.path}.") for name in sent)
    return field.kind == FLAG or field.path in sent or is_list


def _texts(sent: dict[str, str], path: str) -> list[str]:
    texts = ((name.removeprefix(f"{path}."), text) for name, text in sent.items() if name.startswith(f"{path}."))
    numbered = sorted((int(number), text) for number, text in texts if _NUMBER.fullmatch(number))
    return [text for _, text in numbered if text.strip()]


def _parse(field: Field, text: Any) -> Any:
    """Return a submitted text's value, or None to clear the member. The API rejects non-numeric texts for numbers."""
    if field.kind == FLAG:
        return bool(text)
    if field.kind == LINES:
        return [line.strip() for line in text.splitlines() if line.strip()]
    if field.kind != NUMBER:
        return text or None
    try:
        return json.loads(text) if text.strip() else None
    except (ValueError, RecursionError):
        return text


def _put(document: Document, path: str, value: Any) -> None:
    first, _, below = path.partition(".")
    if below:
        _put(document.setdefault(first, {}), below, value)
    else:
        document[first] = value
