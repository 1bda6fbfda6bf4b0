"""Reads and restores record versions."""

import re
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from chalicelib import errors, ids
from chalicelib.extensions.history import store
from chalicelib.http import auth, privileges
from chalicelib.http.lazy_module import LazyModule
from chalicelib.storage import Document, DocumentRow

if TYPE_CHECKING:
    from chalicelib.extensions.history import models
    from chalicelib.http import projections, wire
else:
    models = LazyModule("chalicelib.extensions.history.models")
    projections, wire = LazyModule("chalicelib.http.projections"), LazyModule("chalicelib.http.wire")

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


def restore(model: Any, version: Document, today: Document) -> Document:
    """Return the document that restores a version. `today` is the record's current document, and `model` its type.

    Secret members and members that the service sets keep the values of `today` at any depth. Objects in lists are
    matched by id, or by index if they have no id. An object without a match keeps its own values.
    """
    unchanged = projections.secret_members(model) | wire.read_only_members(model)
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
