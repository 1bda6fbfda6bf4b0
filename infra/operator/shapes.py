"""The shapes of export lines, by kind: their members, member types and order.

An import checks every line before it writes anything. Document members are checked if the import or a function relies
on them; all other members are stored unchanged. Error messages contain the member and the rule, but never a value.
"""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, TypeAlias

from pynamodb.attributes import (
    BinaryAttribute,
    BooleanAttribute,
    NumberAttribute,
    TTLAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
)

from chalicelib import ids, storage
from chalicelib.credentials import tokens
from chalicelib.storage import parent_scoped_ids
from infra.operator import documents, exports, records, rules

Record = dict[str, Any]

# Maximum bytes per line. Conversation lines are the longest, because a conversation has up to 6 MiB of turns.
MAX_LINE = 32_000_000


class ClosedObject(dict[str, "Shape"]):
    """The shape of an object without additional members."""


# A rule, the shape of a list's elements, or an object's members. The names of optional members end with `?`.
Shape: TypeAlias = "rules.Rule | list[Shape] | dict[str, Shape]"

_ATTRIBUTES: list[tuple[type[Any], Shape]] = [
    (BinaryAttribute, {}),
    (BooleanAttribute, rules.BOOLEAN),
    (TTLAttribute, rules.SECONDS),
    (NumberAttribute, rules.SECONDS),
    (UnicodeSetAttribute, rules.SCOPES),
    (UnicodeAttribute, rules.ANY_TEXT),
]
# Patterns of key parts, keyed by their names in `storage.Lifecycle`. All other parts are identifiers.
_KEY_PARTS = {
    "ULID": ids.ULID.pattern,
    "hash": "[0-9a-f]{64}",
    "kind": f"({tokens.WORKSPACE}|{tokens.ACCESS}|{tokens.AGENT})",
    "lead": rules.CHILD_ID,
    "tool": rules.CHILD_ID,
}
_MEMBERS: dict[str, dict[str, Shape]] = {
    "workspace": {
        "document": {
            "name": rules.ANY_TEXT,
            "createdAt": rules.SECONDS,
            "workspaceSecret": rules.ANY_TEXT,
            "retentionDays?": rules.DAYS,
        }
    },
    "credential": {
        "token_hash": rules.TOKEN_HASH,
        "kind": rules.CREDENTIAL_KIND,
        "credential_id": rules.ULID,
        "agent_id?": rules.IDENTIFIER,
        "scopes?": rules.SCOPES,
    },
    "client": {"created?": rules.ULID, "document": {"dashboardPassword?": rules.PASSWORD}},
    "email": {"owner": rules.IDENTIFIER},
    "agent": {"document": {"createdAtUNIX": rules.PAST_SECONDS, "lastModified": rules.PAST_SECONDS}},
    "tool": {"document": {"agentId": rules.IDENTIFIER, "createdAt": rules.ANY_TEXT}},
    "lead": {"document": {"agentId": rules.IDENTIFIER, "createdAt": rules.MILLISECONDS}},
    "webhook": {
        "document": {
            "kind?": rules.ENDPOINT_KIND,
            "url?": rules.URL,
            "events": rules.TYPES,
            "enabled": rules.BOOLEAN,
            "createdAt": rules.MILLISECONDS,
            "secrets": [{"secret": rules.ANY_TEXT, "endsAt?": rules.MILLISECONDS}],
        }
    },
    "conversation": {
        "conversation": rules.IDENTIFIER,
        "version_tag": rules.ULID,
        "metadata": {
            "ID": rules.ANY_TEXT,
            # Any number, because an earlier version did not validate the caller's value; see `_dependent`.
            "messagesNum": rules.NUMBER,
            "interactionsNum": rules.COUNT,
            "lastModified": rules.SECONDS,
            "retentionDays?": rules.DAYS,
        },
        "seen": ClosedObject({"interactions": rules.COUNT, "messages": rules.COUNT, "gone": rules.DIGESTS}),
        "turns": [{"ts": rules.NUMBER, "messages?": {"mid": rules.ANY_TEXT}}],
    },
}


def parse(raw: bytes) -> Any:
    """Return the JSON value of a line, or None if it is truncated, too long or invalid."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def find_problem(line: Any, number: int, before: Record) -> str | None:
    """Return the problem with a line that follows the line `before`, or None. Only the second line is the workspace.

    Without this check, a file could write records of another kind, or write to an existing workspace.
    """
    if not isinstance(line, dict):
        return f"it must be a JSON object of at most {MAX_LINE:,} bytes"
    kinds = ["workspace"] if number == 2 else [name for name in records.KINDS if name != "workspace"]
    if line.get("kind") not in kinds:
        return f"kind must be {' or '.join(kinds)}"
    problems = _problems(line, _shape(line["kind"]), "")
    return (
        next(problems, None)
        or _unstorable(line)
        or documents.find_problem(line["kind"], line["record"])
        or _dependent(line)
        or _disorder(line, before)
    )


@cache
def _shape(name: str) -> Shape:
    """Return the shape of the lines for a kind."""
    members = ClosedObject(_MEMBERS[name] if name == "conversation" else _of_row(name) | _MEMBERS.get(name, {}))
    agent = {"agent": rules.IDENTIFIER} if records.is_of_agent(name) else {}
    return ClosedObject({"kind": rules.ANY_TEXT, **agent, "key": _key(name), "record": members})


def _of_row(name: str) -> dict[str, Shape]:
    """Return the members of a record that contains a row's attributes."""
    shapes = {}
    for member, attribute in exports.members(name).items():
        is_optional = (attribute.null or attribute.default is not None) and member not in _MEMBERS.get(name, {})
        shape = next(shape for class_, shape in _ATTRIBUTES if isinstance(attribute, class_))
        # Functions and later saves read the write time from the version tag.
        shape = rules.ULID if member == "version_tag" else shape
        shapes[f"{member}{'?' * is_optional}"] = shape
    return shapes


def _key(name: str) -> rules.Rule:
    """Return the rule for a key.

    Each part of the key is checked, because a separator in a part could form another record's key.
    """
    if name in ("conversation", "webhook"):
        return rules.ULID
    pattern = records.pattern_of(records.KINDS[name].lifecycle.sort, lambda part: _KEY_PARTS.get(part, rules.ID))
    return rules.text(f"a valid {name} key", pattern)


def _problems(value: Any, shape: Shape, path: str) -> Iterator[str]:
    name = path.removeprefix(".") or "it"
    if isinstance(shape, rules.Rule):
        if not shape.holds(value):
            yield f"{name} must be {shape.words}"
    elif isinstance(shape, list):
        if not isinstance(value, list):
            yield f"{name} must be a list"
            return
        for index, one in enumerate(value):
            yield from _problems(one, shape[0], f"{path}.{index}")
    elif not isinstance(value, dict):
        yield f"{name} must be an object"
    else:
        yield from _member_problems(value, shape, path)


def _member_problems(value: Record, shape: dict[str, Shape], path: str) -> Iterator[str]:
    for name, inner in shape.items():
        member = name.removesuffix("?")
        if member in value:
            yield from _problems(value[member], inner, f"{path}.{member}")
        elif name == member:
            yield f"{path}.{member} is missing".removeprefix(".")
    names = [name.removesuffix("?") for name in shape]
    if isinstance(shape, ClosedObject) and not value.keys() <= {*names}:
        yield f"{path.removeprefix('.') or 'it'} may have only the members {', '.join(names)}"


def _unstorable(line: Record) -> str | None:
    for name, value in {**line["record"], "key": line["key"]}.items():
        try:
            storage.encode_json(value)
        except (ValueError, RecursionError):
            path = name if name == "key" else f"record.{name}"
            return f"{path} must not contain NaN, infinity, a lone surrogate or deep nesting"
    return None


def _dependent(line: Record) -> str | None:
    """Return the first violated rule that involves several members of a line, or None."""
    record = line["record"]
    if line["kind"] == "credential" and record["kind"] == tokens.AGENT and "agent_id" not in record:
        return "record.agent_id is missing"
    if not _is_own_key(line):
        return f"key must be a valid {line['kind']} key with a time that is not in the future"
    if line["kind"] == "lead" and record["document"]["agentId"] != line["agent"]:
        return "record.document.agentId must be the agent of the line"
    if line["kind"] == "webhook" and ("url" in record["document"]) == (record["document"].get("kind") == "pull"):
        return "record.document must have a url, unless its kind is pull"
    # If a conversation has turns, the service has counted their messages.
    if line["kind"] == "conversation" and record["turns"] and not rules.COUNT.holds(record["metadata"]["messagesNum"]):
        return f"record.metadata.messagesNum must be {rules.COUNT.words}"
    return None


def _is_own_key(line: Record) -> bool:
    """Return whether a key contains the agent, kind and id of its line."""
    kind, key, agent = line["kind"], line["key"], line.get("agent", "")
    if kind == "credential":
        own = [line["record"][name] for name in ("kind", "agent_id", "credential_id") if name in line["record"]]
        return bool(key == storage.join_key("credential", *own))
    if kind == "agent":
        return bool(key == storage.join_key("agent", agent))
    if kind not in ("tool", "lead"):
        return True
    prefix = parent_scoped_ids.id_at(agent, "")
    start = storage.join_key("tool", prefix) if kind == "tool" else prefix
    return key.startswith(start) and rules.ULID.holds(key.removeprefix(start))


def _disorder(line: Record, before: Record) -> str | None:
    """Return the ordering error between two lines, or None if there is none. A duplicate record is an error."""
    if line["kind"] == "workspace" or _position(before) < _position(line):
        return None
    return "the records must be in export order, each only once"


def _position(line: Record) -> tuple[int, str, str]:
    return list(records.KINDS).index(line["kind"]), line.get("agent", ""), line["key"]
