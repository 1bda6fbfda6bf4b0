"""Turns a response into a text for a model, of at most 40,000 characters.

A shortened text would be stored if the model sent it back. Therefore, a member that is too long is left out as a whole
and listed in `omitted`. The argument `members` reads such a member in pieces.
"""

import json
from collections.abc import Iterator
from typing import Any

from chalice.app import Response

from chalicelib import errors
from chalicelib.extensions.mcp.tools import AssistantTool

MOST_CHARACTERS = 39_000
"""The maximum length of a text, which leaves room for a second text about a repeated call."""

_MOST_OMITTED = 100  # characters per entry of `omitted`
# Limits of the argument `members`: a record may be repeated in each path, and a path is part of the answer.
_MOST_PATHS, _LONGEST_PATH = 20, 1_000
# The members of the success envelope that are the same in all responses.
_LEFT_OUT = frozenset({"success"})


def length(response: Response, tool: AssistantTool) -> int:
    """Return the number of characters of the whole response."""
    return len(_text(_content(response, tool)))


def fitted(response: Response, tool: AssistantTool) -> str:
    """Return the response. If it is too long, leave out the longest members of its records, and list them.

    If the names of the members are too long, leave out the records as a whole. Their path is empty.
    """
    content = _content(response, tool)
    too_many = len(_text(content)) - MOST_CHARACTERS
    if too_many <= 0:
        return _text(content)
    omitted: list[dict[str, Any]] = []
    members = sorted(_members(content.get(tool.records)), key=lambda member: member[:2], reverse=True)
    for characters, path, record, name in members:
        if too_many > 0:
            del record[name]
            omitted.append({"member": path, "characters": characters})
            too_many += _MOST_OMITTED - characters
    text = _text({**content, "omitted": omitted})
    return text if len(text) <= MOST_CHARACTERS else _without_records(response, tool)


def selected(response: Response, tool: AssistantTool, members: list[Any], offset: int) -> str:
    """Return these members of a record, or a piece of a member that is too long, from the character `offset`.

    A member is a dotted path. An empty path is the whole record. Raise Invalid for an unknown path, for too many or too
    long paths, and for several members that are too long together.
    """
    if len(members) > _MOST_PATHS or any(len(str(path)) > _LONGEST_PATH for path in members):
        rule = f"must be at most {_MOST_PATHS} paths of at most {_LONGEST_PATH:,} characters"
        raise errors.Invalid.member("members", rule)
    record = json.loads(response.body)[tool.records]
    values = {str(path): _value(record, str(path)) for path in members}
    whole = _text({"members": values})
    if len(whole) <= MOST_CHARACTERS and not offset:
        return whole
    if len(values) != 1:
        raise errors.Invalid.member("members", "must be one member, because the members are too long together")
    ((path, value),) = values.items()
    return _piece(path, value if isinstance(value, str) else _text(value), offset)


def _without_records(response: Response, tool: AssistantTool) -> str:
    content = _content(response, tool)
    omitted = {"member": "", "characters": len(_text(content.pop(tool.records, None)))}
    return _text({**content, "omitted": [omitted]})


def _piece(path: str, text: str, offset: int) -> str:
    if not 0 <= offset <= len(text):
        raise errors.Invalid.member("offset", "must be a position in the member")
    size = MOST_CHARACTERS
    while True:
        end = min(len(text), offset + size)
        piece = {"member": path, "characters": len(text), "offset": offset, "piece": text[offset:end]}
        answer = _text({**piece, **({"nextOffset": end} if end < len(text) else {})})
        if len(answer) <= MOST_CHARACTERS:
            return answer
        size = size * MOST_CHARACTERS // len(answer) - _MOST_OMITTED


def _content(response: Response, tool: AssistantTool) -> dict[str, Any]:
    """Return the response's members, with the tool's columns of each row and the entity tag without its quotes."""
    body = json.loads(response.body)
    content = {name: value for name, value in body.items() if name not in _LEFT_OUT}
    if tool.columns:
        rows = [{name: row[name] for name in tool.columns if name in row} for row in body[tool.records]]
        content = {name: value for name, value in content.items() if not isinstance(value, list)}
        content[tool.records] = rows
    tag = str(response.headers.get("ETag", "")).strip('"')
    return {"etag": tag, **content} if tag else content


def _members(records: Any, prefix: str = "") -> Iterator[tuple[int, str, dict[str, Any], str]]:
    """Yield each member of a record or of a list's records: its length, its path, its record and its name."""
    if isinstance(records, list):
        for number, record in enumerate(records):
            yield from _members(record, f"{number}.")
    elif isinstance(records, dict):
        yield from ((len(_text(value)), f"{prefix}{name}", records, name) for name, value in records.items())


def _value(record: Any, path: str) -> Any:
    for step in path.split(".") if path else ():
        if isinstance(record, list) and step.isdecimal() and int(step) < len(record):
            record = record[int(step)]
        elif isinstance(record, dict) and step in record:
            record = record[step]
        else:
            raise errors.Invalid.member("members", "must contain dotted paths of members of the record")
    return record


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
