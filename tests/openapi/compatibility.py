"""Finds changes of the API that can break existing clients, by comparing two OpenAPI documents.

`python -m tests.openapi.compatibility FILE` writes the current document, without prose and examples, to a file.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from chalicelib import extensions
from tests.openapi.document import document

LAST = Path(__file__).parents[1] / "releases" / "api.json"
Document = dict[str, Any]
_PROSE = ("description", "summary", "example", "examples", "info", "tags", "servers")


class Member(NamedTuple):
    """What a document says about a value. Without an enumeration, `values` is None."""

    types: frozenset[str]
    is_required: bool
    values: frozenset[str] | None


def breaking_changes(former: Document, current: Document) -> list[str]:
    """Return a sentence for each operation, parameter or member that clients of `former` can no longer use."""
    return [
        f"{method.upper()} {path}: {change}"
        for path, item in former["paths"].items()
        for method, operation in item.items()
        for change in _operation_changes(former, operation, current, current["paths"].get(path, {}).get(method))
    ]


def _operation_changes(former: Document, before: Document, current: Document, after: Document | None) -> Iterator[str]:
    if after is None:
        yield "the operation is missing"
        return
    yield from _request_changes(_parameters(former, before), _parameters(current, after))
    yield from _request_changes(
        _members(former, _schema(before.get("requestBody", {}))),
        _members(current, _schema(after.get("requestBody", {}))),
    )
    for status, response in before["responses"].items():
        if status not in after["responses"]:
            yield f"the status {status} is missing"
        elif status == "200":
            yield from _response_changes(
                _members(former, _schema(response)), _members(current, _schema(after["responses"][status]))
            )


def _request_changes(before: dict[str, Member], after: dict[str, Member]) -> Iterator[str]:
    """Yield what a request of an existing client contains but the current version rejects, or the reverse."""
    for name, member in before.items():
        if name not in after:
            yield f"{name} is no longer accepted"
        elif not member.types <= after[name].types:
            yield f"{name} no longer accepts {sorted(member.types - after[name].types)}"
        elif after[name].values is not None and not (member.values or {"any other value"}) <= (
            after[name].values or set()
        ):
            yield f"{name} accepts fewer values"
    for name, member in after.items():
        if member.is_required and not before.get(name, _OPTIONAL).is_required:
            yield f"{name} is required"


def _response_changes(before: dict[str, Member], after: dict[str, Member]) -> Iterator[str]:
    """Yield what an existing client reads but the current version no longer returns."""
    for name, member in before.items():
        if name not in after:
            yield f"{name} is no longer returned"
        elif not after[name].types <= member.types:
            yield f"{name} can also be {sorted(after[name].types - member.types)}"
        elif member.is_required and not after[name].is_required:
            yield f"{name} can be absent"


_OPTIONAL = Member(frozenset(), False, None)


def _parameters(whole: Document, operation: Document) -> dict[str, Member]:
    parameters = [_resolved(whole, one) for one in operation.get("parameters", ())]
    return {
        f"{one['in']} {one['name']}": _member(whole, one["schema"], is_required=one.get("required", False))
        for one in parameters
    }


def _schema(body: Document) -> Document:
    content = body.get("content", {})
    schema: Document = content.get("application/json", {}).get("schema", {})
    return schema


def _members(whole: Document, schema: Document, place: str = "", seen: tuple[str, ...] = ()) -> dict[str, Member]:
    """Return the members of a schema and of the schemas in it, by dotted path. A list's items have the path `x[]`."""
    if schema.get("$ref") in seen:
        return {}
    seen = (*seen, schema["$ref"]) if "$ref" in schema else seen
    schema = _resolved(whole, schema)
    members: dict[str, Member] = {}
    for variant in schema.get("anyOf", ()):
        members |= _members(whole, variant, place, seen)
    if "items" in schema:
        members |= _members(whole, schema["items"], f"{place}[]", seen)
    for name, value in schema.get("properties", {}).items():
        path = f"{place}.{name}".lstrip(".")
        members[path] = _member(whole, value, is_required=name in schema.get("required", ()))
        members |= _members(whole, value, path, seen)
    return members


def _member(whole: Document, schema: Document, *, is_required: bool) -> Member:
    variants = [_resolved(whole, one) for one in _resolved(whole, schema).get("anyOf", [schema])]
    types = [one.get("type", "any") for one in variants]
    listed = [one.get("enum") or ([one["const"]] if "const" in one else None) for one in variants]
    values = None if None in listed else frozenset(json.dumps(value) for one in listed for value in one or ())
    flat = frozenset(name for one in types for name in ([one] if isinstance(one, str) else one))
    return Member(flat, is_required, values)


def _resolved(whole: Document, node: Document) -> Document:
    while "$ref" in node:
        reference = node["$ref"].removeprefix("#/").split("/")
        node = whole
        for step in reference:
            node = node[step]
    return node


def _without_prose(node: Any, *, is_map: bool = False) -> Any:
    """Return the document without prose. In a map of names, such as `properties`, keep every key."""
    if isinstance(node, list):
        return [_without_prose(one) for one in node]
    if not isinstance(node, dict):
        return node
    return {
        key: _without_prose(value, is_map=key in ("properties", "schemas", "parameters") and not is_map)
        for key, value in node.items()
        if is_map or key not in _PROSE
    }


def main() -> None:
    """Write the current document to the file in the arguments, with the names of its extensions."""
    recorded = {"extensions": sorted(extensions.present()), **_without_prose(document())}
    Path(sys.argv[1]).write_text(json.dumps(recorded, separators=(",", ":")) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
