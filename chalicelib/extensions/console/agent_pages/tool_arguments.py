"""The arguments of a tool's test: a field for each parameter, or one JSON field if the parameters do not fit."""

import json
from collections.abc import Container, Iterator
from contextlib import suppress
from typing import Any

from chalicelib import errors
from chalicelib.extensions.console.presentation import template_filters
from chalicelib.storage import Document

# The maximum number of fields in a form, and of characters in a key. Other tools' forms have one JSON field.
_MAX_PARAMETERS, _MAX_KEY, _MAX_DESCRIPTION = 20, 100, 300
_MAX_ARGUMENTS = 5_000
_FIELD = "argument."
TYPE_NAMES = {"string": "text", "integer": "number"}
"""The types that only the API accepts, with the types of the form that have their names."""
_MAX_TYPE = 30  # the maximum characters of an unknown type
# Values of these types are JSON. All other values are texts.
_JSON_TYPES = {"number", "integer", "boolean", "object", "array"}
_PATH, _MASK = "path", "***"


def form_members(tool: Document) -> Document:
    """Return the members of a test's form: `parameters`, which has a field each, or initial `arguments` as JSON."""
    fields = _fields(tool)
    fits = len(fields) <= _MAX_PARAMETERS and all(len(key) <= _MAX_KEY for key in fields)
    text = template_filters.indented_json(dict.fromkeys(fields, ""), _MAX_ARGUMENTS)
    return {
        "parameters": [_parameter(key, field) for key, field in fields.items()] if fits else [],
        "arguments": text if len(text) <= _MAX_ARGUMENTS else "{}",
    }


def read(tool: Document, sent: dict[str, str]) -> Any:
    """Return the arguments of a call: the JSON field if the form has one, otherwise all fields that are not empty."""
    if "arguments" not in sent:
        texts = {key: sent.get(f"{_FIELD}{key}", "") for key in _fields(tool)}
        return {key: _typed(text, _fields(tool)[key].get("type")) for key, text in texts.items() if text}
    try:
        return json.loads(sent["arguments"] or "{}")
    except (ValueError, RecursionError):
        raise errors.Invalid.member("arguments", "must be a JSON object") from None


def needed(tool: Document) -> Iterator[str]:
    """Yield the parameters without which a call fails or has a wrong URL. A stored value is not needed."""
    for key, field in _fields(tool).items():
        is_stored = any(field.get(name) is not None for name in ("value", "defaultValue"))
        if not is_stored and (field.get("required") or field.get("in") == _PATH):
            yield key


def preview(tool: Document, secrets: Container[str]) -> str:
    """Return a call as HTTP text, with the names of its parameters in braces. `secrets` are the ids of fixed values."""
    method, url = str(tool.get("method") or "GET").upper(), str(tool.get("serverUrl") or "")
    places: dict[str, dict[str, str]] = {}
    for key, field in _fields(tool).items():
        place = str(field.get("in") or ("query" if method in ("GET", "DELETE") else "body"))
        places.setdefault(place, {})[key] = _MASK if field.get("id") in secrets else f"{{{key}}}"
    query = "&".join(f"{key}={value}" for key, value in places.get("query", {}).items())
    secret = {"X-Tool-Secret": _MASK} if "serverUrlSecret" in secrets else {}
    headers = [f"\n{key}: {value}" for key, value in {**places.get("header", {}), **secret}.items()]
    body = f"\n\n{template_filters.indented_json(places['body'], _MAX_ARGUMENTS)}" if "body" in places else ""
    text = f"{method} {url}{'&' if '?' in url else '?'}{query}" if query else f"{method} {url}"
    return template_filters.truncate(f"{text}{''.join(headers)}{body}", _MAX_ARGUMENTS) if url else ""


def _fields(tool: Document) -> dict[str, Document]:
    """Return a tool's fields by key."""
    fields = (field for field in tool.get("fields") or () if isinstance(field, dict))
    return {str(field["key"]): field for field in fields if field.get("key")}


def _parameter(key: str, field: Document) -> Document:
    description = template_filters.truncate(str(field.get("description") or ""), _MAX_DESCRIPTION)
    kind, required = str(field.get("type") or ""), bool(field.get("required"))
    return {
        "key": key,
        "description": description,
        "required": required,
        "type": TYPE_NAMES.get(kind, kind[:_MAX_TYPE]),
    }


def _typed(text: str, type_name: Any) -> Any:
    """Return a field's value. The API explains texts that are not of the parameter's type."""
    if type_name in _JSON_TYPES:
        with suppress(ValueError, RecursionError):
            return json.loads(text)
    return text
