"""The form of an agent: its fields, what a sent form changes, and how two versions differ. Pure."""

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from chalicelib import errors
from chalicelib.errors import Issue
from chalicelib.storage import Document

TEXT, AREA, NUMBER, FLAG = "text", "area", "number", "flag"
# The members that people change most, in the order of the form.
_KINDS = {
    "title": TEXT,
    "description": AREA,
    "vg_systemPrompt": AREA,
    "proactiveMessage": AREA,
    "vg_defaultModel": TEXT,
    "vg_temperature": NUMBER,
    "vg_maxTokens": NUMBER,
    "messagesLimit": NUMBER,
    "starred": FLAG,
    "disabled": FLAG,
}
# What the service sets, and what has pages or operations of its own.
_NOT_SHOWN = {"ID", "id", "ownerID", "storageID", "createdAtUNIX", "lastModified", "tools", "assignedToolsIds"}
_TIMES = {"lastModified", "updatedAt", "tools"}


class Field(NamedTuple):
    """A field of the form: the member, how it is typed, its value, and the rule that the value breaks, if it does."""

    name: str
    kind: str
    value: Any
    rule: str | None


def shown(agent: Document, typed: Mapping[str, str] | None, issues: Iterable[Issue]) -> list[Field]:
    """The fields with the values of the agent, or with those that were typed, and their issues."""
    rules = {one["path"].removeprefix("agent.").partition(".")[0]: one["message"] for one in issues}
    values = (
        agent if typed is None else {**typed, **{name: name in typed for name, kind in _KINDS.items() if kind == FLAG}}
    )
    return [Field(name, kind, values.get(name), rules.get(name)) for name, kind in _KINDS.items()]


def rest(agent: Document) -> Document:
    """The members of an agent that the form has as JSON."""
    return {name: value for name, value in agent.items() if name not in _KINDS and name not in _NOT_SHOWN}


def change(before: Document, typed: Mapping[str, str]) -> Document:
    """The members that a form changes; None clears one. Raises Invalid with the path of the field."""
    wanted = {name: _value(name, kind, typed) for name, kind in _KINDS.items()}
    others, had = parse_object("rest", typed.get("rest", "{}")), rest(before)
    wanted |= {**dict.fromkeys(had), **{name: value for name, value in others.items() if name not in _NOT_SHOWN}}
    return {name: value for name, value in wanted.items() if value != before.get(name) and (value or name in before)}


def parse_object(name: str, text: str) -> Document:
    """A JSON object that was typed. Raises Invalid."""
    try:
        found = json.loads(text.strip() or "{}")
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise errors.Invalid.member(name, "must be a JSON object")
    return found


def differences(then: Document, now: Document) -> list[tuple[str, Any, Any]]:
    """The members that differ, with their value then and now; None for none."""
    names = sorted((then.keys() | now.keys()) - _TIMES)
    return [(name, then.get(name), now.get(name)) for name in names if then.get(name) != now.get(name)]


def _value(name: str, kind: str, typed: Mapping[str, str]) -> Any:
    """The value that was typed into a field."""
    text = typed.get(name, "")
    if kind == FLAG:
        return name in typed
    if kind != NUMBER or not text.strip():
        return text.replace("\r\n", "\n") or None
    try:
        number = float(text)
    except ValueError:
        raise errors.Invalid.member(name, "must be a number") from None
    return int(number) if number.is_integer() else number
