"""Reads and restores record versions."""

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from chalicelib import errors, ids
from chalicelib.extensions.history import rows, store
from chalicelib.http import auth, current_request, parameters, privileges
from chalicelib.http.lazy_module import LazyModule
from chalicelib.storage import Document, DocumentRow

if TYPE_CHECKING:
    from chalicelib.agents import store as agents
    from chalicelib.extensions.history import models, paths
    from chalicelib.http import projections, wire
    from chalicelib.tools import store as tools
else:
    agents, tools = LazyModule("chalicelib.agents.store"), LazyModule("chalicelib.tools.store")
    models, paths = (LazyModule(f"chalicelib.extensions.history.{name}") for name in ("models", "paths"))
    projections, wire = LazyModule("chalicelib.http.projections"), LazyModule("chalicelib.http.wire")

_KINDS: dict[str, tuple[str, Any]] = {"agents": ("AgentV3", agents), "tools": ("Tool", tools)}
_NUMBER = re.compile(r"[1-9][0-9]{0,13}")


def read(resource: str, record_id: str, number: str, find_record: Callable[[], DocumentRow | None]) -> Document:
    """Return a version's document. Raise NotFound.

    The latest version may not be stored yet. In that case, return the record itself from `find_record`.
    """
    milliseconds = int(number) if _NUMBER.fullmatch(number) else 0
    version = store.find_version(auth.caller().workspace_id, resource, record_id, milliseconds)
    if version is not None:
        return version.open()
    row = find_record()
    if row is None or ids.timestamp_of(row.version_tag) != milliseconds:
        raise errors.NotFound.of("version")
    return row.open()


def read_newest(resource: str, record_id: str, last: int, limit: int) -> Iterator[tuple[int, Document]]:
    """Yield up to `limit` stored versions, newest first, beginning with the version `last`, each with its number.

    The documents contain the members that the caller may see. This is the service `versions`, which other extensions
    get from `extensions.service("versions")`. It costs one request per MB.
    """
    model: Any = {"agents": lambda: models.AgentV3, "tools": lambda: models.Tool}[resource]
    for version in store.list_versions(auth.caller().workspace_id, resource, record_id, last, limit):
        yield ids.timestamp_of(version.change), privileges.visible(version.open(), model)


def restored_members(resource: str, record_id: str, number: str) -> dict[str, str]:
    """Return the members that restoring a version creates, updates or deletes, with the operation but without values.

    They include members that the caller may not see. This is the service `restored_members`, which costs two requests.
    Raise NotFound.
    """
    model, store_of_record = _KINDS[resource]
    row = store_of_record.read(auth.caller().workspace_id, record_id)
    today = row.open()
    version = read(resource, record_id, number, lambda: row)
    after = restore(getattr(models, model), version, today)
    changed = {path.partition(".")[0] for path in paths.list_changed(today, after)}
    return {name: _operation(name, today, after) for name in sorted(changed)}


def members_that_differ(resource: str, record_id: str, number: str, other: str) -> list[str]:
    """Return the paths of the members in which two stored versions differ, without values.

    They include members that the caller may not see. This is the service `members_that_differ`, which costs up to four
    requests. Raise NotFound.
    """
    _, store_of_record = _KINDS[resource]

    def find_record() -> DocumentRow:
        row: DocumentRow = store_of_record.read(auth.caller().workspace_id, record_id)
        return row

    version, compared = (read(resource, record_id, one, find_record) for one in (number, other))
    return paths.list_changed(compared, version)


def _operation(member: str, before: Document, after: Document) -> str:
    if member not in before:
        return rows.CREATE
    return rows.UPDATE if member in after else rows.DELETE


def kept_members() -> frozenset[str]:
    """Return the members in the query parameter `keep`, which a restoration does not change. Raise Invalid."""
    names = frozenset(current_request.query_values("keep"))
    if len(names) > parameters.MAX_PAGE_SIZE or not all(1 <= len(name) <= parameters.MAX_TEXT for name in names):
        rule = f"must be up to {parameters.MAX_PAGE_SIZE} names of 1 to {parameters.MAX_TEXT} characters"
        raise errors.Invalid.member("keep", rule)
    return names


def restore(model: Any, version: Document, today: Document, kept: frozenset[str] = frozenset()) -> Document:
    """Return the document that restores a version. `today` is the record's current document, and `model` its type.

    The members `kept` keep the values of `today`, as do secret members and members that the service sets at any depth.
    Objects in lists are matched by id, or by index if they have no id. An object without a match keeps its own values.
    """
    unchanged = projections.secret_members(model) | wire.read_only_members(model) | kept
    members = {name: value for name, value in version.items() if name not in unchanged}
    members |= {name: today[name] for name in unchanged & today.keys()}
    for name in projections.nested_models(model).keys() & members.keys() - unchanged:
        members[name] = _nested(projections.nested_models(model)[name], members[name], today.get(name))
    return members


def _nested(model: Any, then: Any, now: Any) -> Any:
    if isinstance(then, dict) and isinstance(now, dict):
        return restore(model, then, now)
    if isinstance(then, list) and isinstance(now, list):
        by_position = {_position(entry, index): entry for index, entry in enumerate(now)}
        return [_nested(model, entry, by_position.get(_position(entry, index))) for index, entry in enumerate(then)]
    return then


def _position(entry: Any, index: int) -> Any:
    """Return a list entry's id, or its index if it has no id."""
    return entry.get("id", index) if isinstance(entry, dict) else index
