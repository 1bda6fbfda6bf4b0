"""The registry of extensions. An extension adds to the specified service, and its folder can be deleted.

`extension.py` in the folder declares the additions. An extension is on if its folder exists and its stage lists it
(`settings.extensions`). Core calls this module, and imports no extension. Extensions do not import each other.

A reference `"module:attribute"`, relative to the folder, is imported at its first use. So a function loads only the
code that it uses, and hooks also work in functions that never import `app.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

from chalicelib import settings

HOOKS = {
    "agent_rows": "(workspace id, agent id, limit) -> rows to delete with an agent, empty if none is left",
    "cascade_deletions": "(workspace id, resource, record ids, Unix milliseconds, author) -> rows to keep of records",
    "erasable": "a module with a `KIND` of records that an erasure searches, and its `list_page` and `delete`",
    "middleware": "(request, get_response) -> response; runs around the envelope",
    "parameters": "a module with `PATH`, `QUERY` and `SCHEMAS` of the operations' parameters (`openapi.parameters`)",
    "recount": "(workspace id, agent id) -> number of periods counted again (`infra.operator`)",
    "removal": "(workspace id) -> number of deleted records by kind; deletes those of a workspace (`infra.operator`)",
    "stage_deletion": "(workspace id, resource, record id) -> None; stages the rows to keep of a deleted record",
}
"""The hooks that core calls, by name: arguments and result."""


@dataclass(frozen=True)
class Extension:
    """The declaration of an extension.

    `routes` and `functions` are blueprints. `follows` maps a table to a `stream_batches.Follower` of its stream. Core
    calls `hooks` at the points that `HOOKS` lists. Other extensions may ask for `services` by name. Paths below
    `open_prefixes` take no bearer token, because the extension checks its own credentials; the OpenAPI document omits
    them. Only the workspace key opens paths below `workspace_key_prefixes`. Browsers and proxies may store responses of
    `storable_routes`, which declare how long.
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
    return tuple(sorted(path.parent.name for path in Path(__file__).parent.glob("*/extension.py")))


@cache
def enabled() -> tuple[Extension, ...]:
    """Return the declarations of the extensions that are on.

    A listed extension without a folder is off. This is not an error, because a function gets its code before its
    environment.
    """
    listed = settings.extensions()
    names = [name for name in present() if listed is None or name in listed]
    return tuple(import_module(f"{__name__}.{name}.extension").EXTENSION for name in names)


def has(name: str) -> bool:
    """Return whether an extension is on."""
    return any(extension.name == name for extension in enabled())


def routes() -> Iterator[Any]:
    """Yield the route blueprints of all extensions."""
    return (extension.load(reference) for extension in enabled() for reference in extension.routes)


def functions() -> Iterator[Any]:
    """Yield the function blueprints of all extensions, except functions that follow streams (`followers`)."""
    return (extension.load(reference) for extension in enabled() for reference in extension.functions)


@cache
def followers(table: str) -> tuple[str, ...]:
    """Return the names of the extensions that follow the stream of a table."""
    return tuple(extension.name for extension in enabled() if table in extension.follows)


@cache
def follower(name: str, table: str) -> Any:
    """Return the `stream_batches.Follower` of an extension for a table."""
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
    """Return the service that an extension offers under a name, or None if that extension is off."""
    offers = (extension.load(extension.services[name]) for extension in enabled() if name in extension.services)
    return next(offers, None)
