"""The versions of a record: finding one, and what restoring it makes."""

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from chalicelib import errors, ids
from chalicelib.history import store
from chalicelib.http import auth, operation
from chalicelib.http.lazy import LazyModule
from chalicelib.storage import Document, DocumentRow

if TYPE_CHECKING:
    from chalicelib.http import projections, wire
else:
    projections, wire = LazyModule("chalicelib.http.projections"), LazyModule("chalicelib.http.wire")

_NUMBER = re.compile(r"[1-9][0-9]{0,13}")


def read(resource: str, record_id: str, number: str, find_record: Callable[[], DocumentRow | None]) -> Document:
    """The document of a version. Raises NotFound.

    The latest version may not be kept yet: then it is the record itself, which `find_record` returns.
    """
    milliseconds = int(number) if _NUMBER.fullmatch(number) else 0
    version = store.find_version(auth.caller().workspace_id, resource, record_id, milliseconds)
    if version is not None:
        return version.open()
    row = find_record()
    if row is None or ids.timestamp_of(row.version_tag) != milliseconds:
        raise errors.NotFound.of("version")
    return row.open()


def restored(version: Document, today: Document) -> Document:
    """The document that restores a version of the operation's record, `today` being the record as it is.

    Secret members, and those that the service sets, stay as they are today, at any depth. An object in a list has those
    of the object with its id, or at its place if the objects have no id. One that is not there today has its own.
    """
    return _restored(operation.current().data, version, today)


def _restored(model: Any, version: Document, today: Document) -> Document:
    kept = projections.secret_members(model) | wire.read_only_members(model)
    members = {name: value for name, value in version.items() if name not in kept}
    members |= {name: today[name] for name in kept & today.keys()}
    for name in projections.nested_models(model).keys() & members.keys() - kept:
        members[name] = _nested(projections.nested_models(model)[name], members[name], today.get(name))
    return members


def _nested(model: Any, then: Any, now: Any) -> Any:
    if isinstance(then, dict) and isinstance(now, dict):
        return _restored(model, then, now)
    if isinstance(then, list) and isinstance(now, list):
        places = {_place(one, index): one for index, one in enumerate(now)}
        return [_nested(model, one, places.get(_place(one, index))) for index, one in enumerate(then)]
    return then


def _place(entry: Any, index: int) -> Any:
    """The id of an entry of a list, or its index without one."""
    return entry.get("id", index) if isinstance(entry, dict) else index
