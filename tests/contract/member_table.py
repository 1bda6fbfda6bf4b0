"""The specification's members from `members.json`, and generated values and documents."""

import json
from pathlib import Path
from typing import Any, NamedTuple

TABLE: dict[str, Any] = json.loads(Path(__file__).with_name("members.json").read_text(encoding="utf-8"))


class Shape(NamedTuple):
    """A member's type on the wire: its JSON type and, for a closed enum, all its values."""

    type: str
    values: frozenset[str] | None = None


class Member(NamedTuple):
    """One line of the member table, with its resource."""

    resource: str
    path: str
    row: dict[str, Any]

    @property
    def type(self) -> str:
        return str(self.row["type"])

    @property
    def shape(self) -> Shape:
        return Shape(self.type, frozenset(self.row["known"]) if self.row.get("closed") else None)


def members(resource: str) -> list[Member]:
    """Return the resource's members, including our additions, but not the members of an `of` resource."""
    rows = TABLE["resources"].get(resource, {"members": []})["members"] + TABLE["additions"].get(resource, [])
    return [Member(resource, row["path"], row) for row in rows]


RESOURCES = [*dict.fromkeys([*TABLE["resources"], *TABLE["additions"]])]
EVERY_MEMBER = [member for resource in RESOURCES for member in members(resource)]


def name_of(member: Member) -> str:
    return f"{member.resource}:{member.path}"


def expected_shapes(resource: str) -> dict[str, Shape]:
    """Return every path of the resource with its shape, including the members of an `of` resource."""
    shapes: dict[str, Shape] = {}
    for member in members(resource):
        shapes[member.path] = member.shape
        if "of" in member.row:
            below = member.path + "[]" * member.type.count("[]")
            inner = expected_shapes(member.row["of"])
            shapes.update({f"{below}.{path}": shape for path, shape in inner.items()})
    return shapes


def expected_secrets(resource: str) -> set[str]:
    """Return every secret path of the resource, including the members of an `of` resource."""
    paths = {member.path for member in members(resource) if member.row.get("secret")}
    for member in members(resource):
        if "of" in member.row:
            below = member.path + "[]" * member.type.count("[]")
            paths |= {f"{below}.{path}" for path in expected_secrets(member.row["of"])}
    return paths


def sample(member: Member, salt: int, *, whole: bool) -> Any:
    """Return a unique value of the member's type. If `whole` is true, numbers are integers."""
    number = salt if whole else salt + 0.5
    text = f"{member.path} {salt} ünïcödé 🐑"
    if "of" in member.row:
        value: Any = document(member.row["of"], salt, whole=whole)
    elif member.path == "SECRET_API_KEY":
        value = f"agent-key-{salt:022}"
    elif member.row.get("closed"):
        value = member.row["known"][salt % len(member.row["known"])]
    elif name_of(member) in TABLE["values"]:
        value = TABLE["values"][name_of(member)][salt % len(TABLE["values"][name_of(member)])]
    elif member.row.get("format") == "date-time":
        value = "2026-11-21T08:09:10Z"
    elif member.row.get("format") == "iso-639-1":
        value = "de"
    elif member.row.get("format") == "iana-time-zone":
        value = "Europe/Amsterdam"
    else:
        value = {
            "string": text,
            "number": number,
            "integer": salt,
            "boolean": salt % 2 == 0,
            "object": {},
            "any": {"of any": [salt, "shape", None, {"": True}], text: number},
        }[member.type.rstrip("[]")]
    for _ in range(member.type.count("[]")):
        value = [value]
    return value


def document(resource: str, salt: int = 1000, *, whole: bool) -> dict[str, Any]:
    """Return a record with a unique value for every member that the table lists for the resource."""
    filled: dict[str, Any] = {}
    for index, member in enumerate(members(resource)):
        *parents, name = member.path.split(".")
        here = filled
        for parent in parents:
            stem = parent.removesuffix("[]")
            here = here[stem][0] if parent.endswith("[]") else here[stem]
        here[name] = sample(member, salt + index, whole=whole)
    return filled


def alone(member: Member, value: Any) -> dict[str, Any]:
    """Return the smallest valid record that contains the value: the member, its parents and the required members."""
    for segment in reversed(member.path.split(".")):
        value = {segment.removesuffix("[]"): [value] if segment.endswith("[]") else value}
    return required_inside(member.resource, "") | dict(value)


def required_inside(resource: str, parent: str) -> dict[str, Any]:
    """Return the required members of the record, or of the object at `parent` (a path that ends with a dot)."""
    found = (m for m in members(resource) if is_required(m))
    inside = {m.path.removeprefix(parent): sample(m, 0, whole=True) for m in found if m.path.startswith(parent)}
    return {name: value for name, value in inside.items() if "." not in name}


def is_required(member: Member) -> bool:
    """Return whether the specification or our own rule (`neverNull`) forbids null as the member's value."""
    return member.row.get("required", False) or name_of(member) in TABLE["neverNull"]


def valid_values(member: Member) -> list[Any]:
    """Return values of the member's type, including the known values of an enum."""
    by_type: dict[str, list[Any]] = {
        "string": ["", "some other text", "ünïcödé 🐑"],
        "number": [3, 3.5, 0, -2.25],
        "integer": [1, 3650],
        "boolean": [True, False],
        "object": [
            required_inside(member.row["of"], "")
            if "of" in member.row
            else required_inside(member.resource, f"{member.path}.")
        ],
        "any": ["text", 3, 3.5, True, [], {}, [{"a": None}]],
    }
    if "format" in member.row:
        values = [sample(member, 0, whole=True)]
    elif member.row.get("closed"):
        values = member.row["known"]
    elif name_of(member) in TABLE["values"]:
        values = TABLE["values"][name_of(member)]
    else:
        values = by_type[member.type.rstrip("[]")] + member.row.get("known", [])
    for _ in range(member.type.count("[]")):
        values = [[], values]
    return values


WRONG = {
    "string": ["5", "1.5", "true", "[]", "{}", '["text"]'],
    "number": ['"5"', '""', "true", "false", "[]", "{}", "NaN", "Infinity", "-Infinity", "1e999", "-1e999"],
    "integer": ['"5"', "0", "3651", "3.5", "true", "[]", "{}", "1e999"],
    "boolean": ["1", "0", "1.0", '"true"', '"yes"', '""', "[]", "{}"],
    "object": ["5", "true", '"text"', "[]", '"[]"', '"5"'],
}


def invalid_values(member: Member) -> list[str]:
    """Return JSON texts of all other types except null."""
    wrong = WRONG.get(member.type.rstrip("[]"), [])
    if member.row.get("closed"):
        wrong = [*wrong, '""', '"another"', json.dumps(member.row["known"][0].upper())]
    for _ in range(member.type.count("[]")):
        wrong = [*(f"[{text}]" for text in wrong), "5", "true", '"text"', "{}"]
    return wrong
