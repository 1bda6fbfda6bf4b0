"""Access token scopes. A scope consists of a resource, and `read` or `write`.

An operation's resource is the tag in its declaration (`http.operation`). `read` permits `GET`, `HEAD` and operations
that are declared to change nothing. `write` permits all operations.
"""

from collections.abc import Collection
from typing import Literal, get_args

Scope = Literal[
    "agents:read",
    "agents:write",
    "analytics:read",
    "analytics:write",
    "clients:read",
    "clients:write",
    "conversations:read",
    "conversations:write",
    "leads:read",
    "leads:write",
    "organisations:read",
    "organisations:write",
    "tools:read",
    "tools:write",
    "webhooks:read",
    "webhooks:write",
]
ALL: tuple[str, ...] = get_args(Scope)
READ = frozenset(scope for scope in ALL if scope.endswith(":read"))


def scope_for(resource: str, method: str) -> str:
    """Return the scope that permits an operation on a resource."""
    return f"{resource}:{'read' if method in ('GET', 'HEAD') else 'write'}"


def covers(granted: Collection[str], scope: str) -> bool:
    """Return whether these scopes include `scope`. `write` includes `read`, because writes return the record."""
    return scope in granted or scope.replace(":read", ":write") in granted
