"""What a line of an export must be, by its kind: its members, their types and its place.

An import checks every line before it writes anything. The members of a document are checked where the import or a
function relies on them; the others are stored as they are. A problem names the member and the rule, never a value.
"""

import json
import re
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, NamedTuple, TypeAlias

from pynamodb.attributes import (
    BinaryAttribute,
    BooleanAttribute,
    NumberAttribute,
    TTLAttribute,
    UnicodeAttribute,
    UnicodeSetAttribute,
)

from chalicelib import clock, ids, storage
from chalicelib.clients.models import SHORTEST_PASSWORD
from chalicelib.conversations import received
from chalicelib.conversations.store import WAITING_STATES
from chalicelib.credentials import scopes, tokens
from chalicelib.storage import parent_scoped_ids
from chalicelib.webhooks import events
from infra.cams import documents, exports, records

Record = dict[str, Any]

# Bytes. The longest lines are those of conversations, which have up to 6 MiB of turns.
MAX_LINE = 32_000_000


class Rule(NamedTuple):
    """What a value must be, in words and as a function."""

    words: str
    holds: Callable[[Any], bool]


class Only(dict[str, "Shape"]):
    """The shape of an object that has no other members."""


# A rule; the shape of each element of a list; or the members of an object, with `?` if they may be missing.
Shape: TypeAlias = "Rule | list[Shape] | dict[str, Shape]"


def _whole(least: int, most: int, unit: str = "") -> Rule:
    def holds(value: Any) -> bool:
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return is_number and least <= value <= most and value == int(value)

    return Rule(f"a whole number{unit} from {least:,} to {most:,}", holds)


def _text(words: str, pattern: str) -> Rule:
    compiled = re.compile(pattern)
    return Rule(words, lambda value: isinstance(value, str) and compiled.fullmatch(value) is not None)


_ANY_TEXT = Rule("a text", lambda value: isinstance(value, str))
_BOOLEAN = Rule("true or false", lambda value: isinstance(value, bool))
_NUMBER = Rule("a number", lambda value: isinstance(value, int | float) and not isinstance(value, bool))
# The year 5138; with any retention it is still a date.
_SECONDS = _whole(0, 99_999_999_999, " of seconds")
_MILLISECONDS = _whole(0, 99_999_999_999_999, " of milliseconds")
_DAYS = _whole(1, 3_650, " of days")
_COUNT = _whole(0, 2**32 - 1)
_DIGESTS = _text("up to 30,000 times 12 hexadecimal digits", r"([0-9a-f]{12}){0,30000}")
# Of a clock that is ahead. Without a limit, a time could be after the year 9999, which is no date.
_AHEAD_MILLISECONDS = 24 * 60 * 60 * 1000


def _is_ulid(value: Any) -> bool:
    is_ulid = isinstance(value, str) and ids.ULID.fullmatch(value) is not None
    return is_ulid and ids.timestamp_of(value) <= clock.milliseconds() + _AHEAD_MILLISECONDS


_ULID = Rule("a ULID of a time that is not in the future", _is_ulid)
# The id of a tool or a lead, see `parent_scoped_ids`.
_CHILD_ID = "[0-9a-hjkmnp-tv-z]{11}" + ids.ULID.pattern
_LEAD_ID = _text("the id of a lead", _CHILD_ID)
_ID = ids.IDENTIFIER.pattern
_IDENTIFIER = _text(ids.IDENTIFIER_RULE, _ID)
_TOKEN_HASH = _text("64 hexadecimal digits", "[0-9a-f]{64}")
_CREDENTIAL_KIND = _text("workspace, access or agent", "|".join((tokens.WORKSPACE, tokens.ACCESS, tokens.AGENT)))
# DynamoDB has no empty set, and a token without scopes opens everything.
_SCOPES = Rule(
    "a list of one or more scopes",
    lambda value: isinstance(value, list) and value != [] and all(one in scopes.ALL for one in value),
)
_TYPES = Rule(
    "a list of types of events",
    lambda value: isinstance(value, list) and all(isinstance(one, str) and one in events.TYPES for one in value),
)
_PASSWORD = Rule(
    f"a text of at least {SHORTEST_PASSWORD} characters that is not blank",
    lambda value: isinstance(value, str) and len(value) >= SHORTEST_PASSWORD and value.strip() != "",
)
_ATTRIBUTES: list[tuple[type[Any], Shape]] = [
    (BinaryAttribute, {}),
    (BooleanAttribute, _BOOLEAN),
    (TTLAttribute, _SECONDS),
    (NumberAttribute, _SECONDS),
    (UnicodeSetAttribute, _SCOPES),
    (UnicodeAttribute, _ANY_TEXT),
]
_KEYS = {
    "credential": f"credential#({tokens.WORKSPACE}|{tokens.ACCESS}|{tokens.AGENT}#{_ID})#{ids.ULID.pattern}",
    "client": _ID,
    "email": "[0-9a-f]{64}",
    "organisation": _ID,
    "agent": f"agent#{_ID}",
    "tool": f"tool#{_CHILD_ID}",
    "analytics": _ID,
}
_MEMBERS: dict[str, dict[str, Shape]] = {
    "workspace": {
        "document": {
            "name": _ANY_TEXT,
            "createdAt": _SECONDS,
            "workspaceSecret": _ANY_TEXT,
            "retentionDays?": _DAYS,
        }
    },
    "credential": {
        "token_hash": _TOKEN_HASH,
        "kind": _CREDENTIAL_KIND,
        "credential_id": _ULID,
        "agent_id?": _IDENTIFIER,
        "scopes?": _SCOPES,
    },
    "client": {"created?": _ULID, "document": {"dashboardPassword?": _PASSWORD}},
    "email": {"owner": _IDENTIFIER},
    "agent": {"document": {}},
    "lead": {"document": {"agentId": _IDENTIFIER, "createdAt": _MILLISECONDS}},
    "webhook": {
        "document": {
            "url": _ANY_TEXT,
            "events": _TYPES,
            "enabled": _BOOLEAN,
            "createdAt": _MILLISECONDS,
            "secrets": [{"secret": _ANY_TEXT, "endsAt?": _MILLISECONDS}],
        }
    },
    "conversation": {
        "conversation": _IDENTIFIER,
        "version_tag": _ULID,
        "metadata": {"lastModified?": _SECONDS, "retentionDays?": _DAYS},
        "seen": Only(zip(received.Seen._fields, (_COUNT, _COUNT, _DIGESTS), strict=True)),
        "turns": [{"ts": _NUMBER, "messages?": {"mid": _ANY_TEXT}}],
    },
}


def parse(raw: bytes) -> Any:
    """The JSON value of a line; None if it is cut, too long or no JSON."""
    try:
        return json.loads(raw)
    except (ValueError, RecursionError):
        return None


def find_problem(line: Any, number: int, before: Record) -> str | None:
    """What is wrong with a line after the line `before`, or None. The workspace is in the second line only.

    Otherwise a file could write what its kind does not own, or into a workspace that exists.
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
    """The shape of a line of a kind."""
    kind = records.KINDS[name]
    members = Only(_MEMBERS[name] if name == "conversation" else _of_row(name) | _MEMBERS.get(name, {}))
    agent = {"agent": _IDENTIFIER} if kind.is_of_agent else {}
    return Only({"kind": _ANY_TEXT, **agent, "key": _key(name), "record": members})


def _of_row(name: str) -> dict[str, Shape]:
    """The members of a record that has the attributes of a row."""
    shapes = {}
    for member, attribute in exports.members(name).items():
        is_optional = (attribute.null or attribute.default is not None) and member not in _MEMBERS.get(name, {})
        shape = next(shape for class_, shape in _ATTRIBUTES if isinstance(attribute, class_))
        # Functions and later saves read the time of a write in its tag.
        shape = _ULID if member == "version_tag" else shape
        shapes[f"{member}{'?' * is_optional}"] = shape
    return shapes


def _key(name: str) -> Rule:
    """The key of a record, part by part: a part that contains a separator could make the key of another record."""
    if name == "workspace":
        return _text("workspace", name)
    if name in ("conversation", "webhook"):
        return _ULID
    return _LEAD_ID if name == "lead" else _text(f"the key of a record of the kind {name}", _KEYS[name])


def _problems(value: Any, shape: Shape, path: str) -> Iterator[str]:
    name = path.removeprefix(".") or "it"
    if isinstance(shape, Rule):
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
    if isinstance(shape, Only) and not value.keys() <= {*names}:
        yield f"{path.removeprefix('.') or 'it'} may have only the members {', '.join(names)}"


def _unstorable(line: Record) -> str | None:
    for name, value in {**line["record"], "key": line["key"]}.items():
        try:
            storage.encode_json(value)
        except (ValueError, RecursionError):
            path = name if name == "key" else f"record.{name}"
            return f"{path} must have no NaN, no infinity, no half of a surrogate pair and no deep nesting"
    return None


def _dependent(line: Record) -> str | None:
    """What is missing because of another member."""
    record = line["record"]
    if line["kind"] == "credential" and record["kind"] == tokens.AGENT and "agent_id" not in record:
        return "record.agent_id is missing"
    if not _is_own_key(line):
        return f"key must be the key of a record of the kind {line['kind']}, with a time that is not in the future"
    if line["kind"] == "lead" and record["document"]["agentId"] != line["agent"]:
        return "record.document.agentId must be the agent of the line"
    if line["kind"] == "conversation":
        metadata = record["metadata"]
        if metadata.get("state") in WAITING_STATES and "lastModified" not in metadata:
            return "record.metadata.lastModified is missing"
    return None


def _is_own_key(line: Record) -> bool:
    """Whether a key has the agent, the kind and the id of its line."""
    kind, key, agent = line["kind"], line["key"], line.get("agent", "")
    if kind == "credential":
        own = [line["record"][name] for name in ("kind", "agent_id", "credential_id") if name in line["record"]]
        return bool(key == storage.key("credential", *own))
    if kind == "agent":
        return bool(key == storage.key("agent", agent))
    if kind not in ("tool", "lead"):
        return True
    prefix = parent_scoped_ids.id_at(agent, "")
    start = storage.key("tool", prefix) if kind == "tool" else prefix
    return key.startswith(start) and _ULID.holds(key.removeprefix(start))


def _disorder(line: Record, before: Record) -> str | None:
    """What is wrong with the place of a line. No record may be there twice."""
    if line["kind"] == "workspace" or _position(before) < _position(line):
        return None
    return "the records must have the order of the export, each once"


def _position(line: Record) -> tuple[int, str, str]:
    return list(records.KINDS).index(line["kind"]), line.get("agent", ""), line["key"]
