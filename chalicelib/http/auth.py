"""Authentication and authorisation (§5). Default deny: two middlewares check every request.

The hash of the bearer token identifies the credential, and the credential identifies the workspace. Each process
caches credentials for 30 seconds: cached lookups cost nothing, and a revoked or suspended credential may work for that
long.
"""

from collections.abc import Callable
from contextvars import ContextVar
from typing import NamedTuple

from chalice.app import Request, Response

from chalicelib import clock, errors
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens

CACHE_SECONDS = 30
_CACHE_SIZE = 10_000

# The public documentation, see `openapi`.
OPEN_ROUTES = frozenset({"/", "/openapi.json", "/docs", "/docs/{asset}"})

# The table of §5. The first prefix that matches a path decides which credentials it accepts. Only the workspace key
# issues credentials; otherwise a token that expires could issue one that does not.
ROUTE_CREDENTIALS: tuple[tuple[str, frozenset[str]], ...] = (
    ("/v3/tokens", frozenset({tokens.WORKSPACE})),
    ("/v3/workspace", frozenset({tokens.WORKSPACE})),
    ("/v3/erasures", frozenset({tokens.WORKSPACE})),
    ("/v3/", frozenset({tokens.WORKSPACE, tokens.ACCESS})),
    ("/v2/agents/", frozenset({tokens.WORKSPACE, tokens.AGENT})),
    ("/agents/", frozenset({tokens.WORKSPACE, tokens.AGENT})),
    ("/v2/clients", frozenset({tokens.WORKSPACE})),
    ("/v2/orgs/", frozenset({tokens.WORKSPACE})),
)


class Caller(NamedTuple):
    """The credential of a request. `agent_id` is set for an agent key, which opens only that agent.

    `scopes` is None for a credential that opens all routes of its kind (`privileges`).
    """

    workspace_id: str
    kind: str
    credential_id: str
    agent_id: str | None
    scopes: frozenset[str] | None


_caller: ContextVar[Caller] = ContextVar("caller")
# By token hash: when it was looked up, when the entry expires, and the caller. Unix milliseconds, because the monotonic
# clock may stop while the function is frozen between requests.
_cache: dict[str, tuple[int, int, Caller]] = {}


def caller() -> Caller:
    """The caller of the current request."""
    return _caller.get()


def authenticate(request: Request, get_response: Callable[[Request], Response]) -> Response:
    """Middleware. Raises Unauthorized without a known token, Forbidden if the route does not accept the credential."""
    if request.path in OPEN_ROUTES:
        return get_response(request)
    authenticated = _find_caller(_bearer(request.headers.get("authorization", "")))
    if authenticated.kind not in credentials_for(request.path):
        raise errors.Forbidden()
    request.context["workspaceId"] = authenticated.workspace_id
    token = _caller.set(authenticated)
    try:
        return get_response(request)
    finally:
        _caller.reset(token)


def restrict_agent_key(request: Request, get_response: Callable[[Request], Response]) -> Response:
    """Middleware, after path values are decoded. Raises Forbidden for an agent key on the path of another agent."""
    if request.path not in OPEN_ROUTES:
        agent_id = caller().agent_id
        if agent_id is not None and (request.uri_params or {}).get("agent_id") != agent_id:
            raise errors.Forbidden()
    return get_response(request)


def credentials_for(path: str) -> frozenset[str]:
    """The kinds of credential that open a route; empty for a path outside the table (default deny)."""
    return next((kinds for prefix, kinds in ROUTE_CREDENTIALS if path.startswith(prefix)), frozenset())


def clear_cache() -> None:
    """Forget all cached credentials."""
    _cache.clear()


def _bearer(header: str) -> str:
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or tokens.kind(token.strip()) is None:
        raise errors.Unauthorized()
    return token.strip()


def _find_caller(token: str) -> Caller:
    fingerprint = tokens.fingerprint(token)
    since, until, cached = _cache.get(fingerprint, (0, 0, None))
    if cached is None or not since <= clock.milliseconds() < until:
        return _look_up(fingerprint)
    return cached


def _look_up(fingerprint: str) -> Caller:
    started = clock.milliseconds()  # before the read: the credential may be revoked right after it
    row = credentials.find(fingerprint)
    if row is None:
        _cache.pop(fingerprint, None)
        raise errors.Unauthorized()
    if row.suspended:
        raise errors.WorkspaceSuspended()
    found = Caller(row.workspace, row.kind, row.credential_id, row.agent_id, row.granted)
    if len(_cache) >= _CACHE_SIZE:
        _cache.clear()
    # A credential is not cached beyond its expiry.
    until = started + CACHE_SECONDS * 1000
    _cache[fingerprint] = (started, until if row.ends_at is None else min(until, row.ends_at * 1000), found)
    return found
