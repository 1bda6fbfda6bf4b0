"""Who is calling, and which routes that opens (§5). Default deny; two middlewares, no route can forget.

The bearer token's hash leads to a credential, the credential to its workspace. A credential that was
found is remembered for 30 seconds by the process: it costs nothing meanwhile, and that is how long a
revoked one may go on.
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

# Nothing to protect behind these, see `openapi`.
OPEN_ROUTES = frozenset({"/openapi.json", "/docs", "/docs/{asset}"})

# The table of §5: a route is opened by the credentials of the first prefix it begins with. Tokens and
# keys are issued from the workspace key only, or a token that expires could make one that does not.
ROUTE_CREDENTIALS: tuple[tuple[str, frozenset[str]], ...] = (
    ("/v3/tokens", frozenset({tokens.WORKSPACE})),
    ("/v3/workspace/", frozenset({tokens.WORKSPACE})),
    ("/v3/", frozenset({tokens.WORKSPACE, tokens.ACCESS})),
    ("/v2/agents/", frozenset({tokens.WORKSPACE, tokens.AGENT})),
    ("/agents/", frozenset({tokens.WORKSPACE, tokens.AGENT})),
    ("/v2/clients", frozenset({tokens.WORKSPACE})),
    ("/v2/orgs/", frozenset({tokens.WORKSPACE})),
)


class Caller(NamedTuple):
    """The credential behind a request. `agent_id` is set for an agent key, which opens that agent only."""

    workspace_id: str
    kind: str
    credential_id: str
    agent_id: str | None
    read_only: bool


_caller: ContextVar[Caller] = ContextVar("caller")
# When each was looked up, and until when it is known, in Unix milliseconds: the monotonic clock of a function that is
# frozen between two requests may stand still.
_cache: dict[str, tuple[int, int, Caller]] = {}


def caller() -> Caller:
    """The caller of the request that is being answered."""
    return _caller.get()


def authenticate(request: Request, get_response: Callable[[Request], Response]) -> Response:
    """Middleware: no token or an unknown one is 401, a known one on a route it does not open 403."""
    if request.path in OPEN_ROUTES:
        return get_response(request)
    known = _cached_caller(_bearer(request.headers.get("authorization", "")))
    if known.kind not in credentials_for(request.path) or (known.read_only and request.method != "GET"):
        raise errors.Forbidden()
    request.context["workspaceId"] = known.workspace_id
    token = _caller.set(known)
    try:
        return get_response(request)
    finally:
        _caller.reset(token)


def restrict_agent_key(request: Request, get_response: Callable[[Request], Response]) -> Response:
    """Middleware, once path values are decoded: an agent key opens its own agent, whatever else exists."""
    if request.path not in OPEN_ROUTES:
        own = caller().agent_id
        if own is not None and (request.uri_params or {}).get("agent_id") != own:
            raise errors.Forbidden()
    return get_response(request)


def credentials_for(path: str) -> frozenset[str]:
    """The kinds of credential that open a route, none for one that the table does not have."""
    return next((kinds for prefix, kinds in ROUTE_CREDENTIALS if path.startswith(prefix)), frozenset())


def clear_cache() -> None:
    """Look every credential up again; what 30 seconds would do."""
    _cache.clear()


def _bearer(header: str) -> str:
    scheme, _, token = header.partition(" ")
    if scheme.lower() != "bearer" or tokens.kind(token.strip()) is None:
        raise errors.Unauthorized()
    return token.strip()


def _cached_caller(token: str) -> Caller:
    fingerprint = tokens.fingerprint(token)
    since, until, known = _cache.get(fingerprint, (0, 0, None))
    if known is None or not since <= clock.milliseconds() < until:
        known = _look_up(fingerprint)
    return known


def _look_up(fingerprint: str) -> Caller:
    asked = clock.milliseconds()  # from here on it may be revoked
    row = credentials.find(fingerprint)
    if row is None:
        _cache.pop(fingerprint, None)
        raise errors.Unauthorized()
    known = Caller(row.workspace, row.kind, row.credential_id, row.agent_id, row.read_only)
    if len(_cache) >= _CACHE_SIZE:
        _cache.clear()
    # Remembered no longer than it lives.
    until = asked + CACHE_SECONDS * 1000
    _cache[fingerprint] = (asked, until if row.ends_at is None else min(until, row.ends_at * 1000), known)
    return known
