"""The extension registry, which core calls. An extension adds features to the specified service.

An extension's `extension.py` declares its features. An extension is enabled if its folder exists and the stage lists it
(`settings.extensions`). Core imports no extension. Extensions do not import each other.

A reference `"module:attribute"` is relative to the extension's folder and is imported on first use. Therefore, a
function loads only the code that it uses, and hooks also work in functions that never import `app.py`.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from chalicelib import settings

HOOKS = {
    "agent_rows": "(workspace id, agent id, limit) -> rows to delete with an agent, empty when none are left",
    "cascade_deletions": "(workspace id, resource, record ids, Unix milliseconds, author) -> rows that log deletions",
    "erasable": "a module with a `KIND` of records that an erasure searches, and its `list_page` and `delete`",
    "error_members": "the schemas of additional members of error bodies, by name",
    "middleware": "(request, get_response) -> response; wraps the envelope middleware",
    "parameters": "a module with the parameter declarations `PATH`, `QUERY` and `SCHEMAS` (`openapi.parameters`)",
    "recount": "(workspace id, agent id) -> number of recounted periods (`infra.operator`)",
    "removal": "(workspace id) -> number of deleted records by kind; deletes all of them (`infra.operator`)",
    "stage_deletion": "(workspace id, resource, record id) -> None; stages the row that logs a deletion",
}
"""The hooks that core calls, by name, with their arguments and results."""


@dataclass(frozen=True)
class Extension:
    """An extension's declaration.

    `routes` and `functions` are blueprints. `follows` maps a table to the `stream_batches.Follower` for its stream.
    `HOOKS` describes the `hooks`. Other extensions look up `services` by name. Paths under `open_prefixes` take
    no bearer token, because the extension checks its own credentials. The OpenAPI document omits these paths. Only the
    workspace key gives access to paths under `workspace_key_prefixes`. Caches may store responses of `storable_routes`.
    """

    name: str
    routes: tuple[str, ...] = ()
    functions: tuple[str, ...] = ()
    follows: Mapping[str, str] = field(default_factory=dict)
    hooks: Mapping[str, str] = field(default_factory=dict)
    services: Mapping[str, str] = field(default_factory=dict)
    open_prefixes: tuple[str, ...] = ()
    storable_routes: tuple[str, ...] = ()
    workspace_key_prefixes: tuple[str, ...] = ()

    def load(self, reference: str) -> Any:
        """Return the attribute for a reference `"module:attribute"`, or the module for `"module"`."""
        module, _, attribute = reference.partition(":")
        loaded = import_module(f"{__name__}.{self.name}.{module}")
        return getattr(loaded, attribute) if attribute else loaded


@cache
def present() -> tuple[str, ...]:
    """Return the names of the extensions whose folders exist, in alphabetical order."""
    entries = os.scandir(__path__[0])  # `glob` would take three times as many instructions
    return tuple(sorted(entry.name for entry in entries if os.access(f"{entry.path}/extension.py", os.F_OK)))


@cache
def enabled() -> tuple[Extension, ...]:
    """Return the declarations of the enabled extensions.

    A listed extension without a folder is disabled: a deployment updates a function's code before its environment.
    """
    listed = settings.extensions()
    names = [name for name in present() if listed is None or name in listed]
    return tuple(import_module(f"{__name__}.{name}.extension").EXTENSION for name in names)


def has(name: str) -> bool:
    """Return whether an extension is enabled."""
    return any(extension.name == name for extension in enabled())


def routes() -> Iterator[Any]:
    """Yield all extensions' route blueprints."""
    return (extension.load(reference) for extension in enabled() for reference in extension.routes)


def functions() -> Iterator[Any]:
    """Yield all extensions' function blueprints, except those of stream followers (`followers`)."""
    return (extension.load(reference) for extension in enabled() for reference in extension.functions)


def files(name: str) -> Iterator[Path]:
    """Yield the enabled extensions' files with this name, such as `examples.json`."""
    paths = (Path(__file__).parent / extension.name / name for extension in enabled())
    return (path for path in paths if path.exists())


@cache
def followers(table: str) -> tuple[str, ...]:
    """Return the names of the extensions that follow a table's stream."""
    return tuple(extension.name for extension in enabled() if table in extension.follows)


@cache
def follower(name: str, table: str) -> Any:
    """Return an extension's `stream_batches.Follower` for a table."""
    (extension,) = (candidate for candidate in enabled() if candidate.name == name)
    return extension.load(extension.follows[table])


@cache
def hooks(name: str) -> tuple[Any, ...]:
    """Return the extensions' hooks with this name. Raise ValueError if `HOOKS` does not list it."""
    if name not in HOOKS:
        raise ValueError(f"no hook {name}")
    return tuple(extension.load(extension.hooks[name]) for extension in enabled() if name in extension.hooks)


@cache
def service(name: str) -> Any:
    """Return the service with this name, or None if the extension that offers it is disabled."""
    offers = (extension.load(extension.services[name]) for extension in enabled() if name in extension.services)
    return next(offers, None)
