"""Authentication and authorisation (§5). Access is denied by default: two middlewares check every request.

The hash of the bearer token identifies the credential, and the credential identifies the workspace. Each process caches
credentials for 30 seconds. Cached lookups cost nothing, but a revoked or suspended credential may keep working for that
long.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache
from typing import NamedTuple

from chalice.app import Request, Response

from chalicelib import clock, errors, extensions, storage
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens

CACHE_SECONDS = 30
_CACHE_SIZE = 10_000

# The routes that accept a visitor token for its own conversation. `conversations.visitors` restricts them further.
VISITOR_ROUTES = frozenset(
    {"/agents/{agent_id}/interact/{user_id}/state", "/agents/{agent_id}/interact/{user_id}/messages"}
)

# The public documentation (see `openapi`).
OPEN_ROUTES = frozenset({"/", "/openapi.json", "/docs", "/docs/{asset}"})

# Extensions check the credentials for these paths themselves.
_OPEN_PREFIXES = tuple(prefix for extension in extensions.enabled() for prefix in extension.open_prefixes)

# The table in §5. The first prefix that matches a path determines which credentials are accepted. Only the workspace
# key can issue access tokens. Otherwise, a token could issue its own successor before it expires.
ROUTE_CREDENTIALS: tuple[tuple[str, frozenset[str]], ...] = (
    *(
        (prefix, frozenset({tokens.WORKSPACE}))
        for extension in extensions.enabled()
        for prefix in extension.workspace_key_prefixes
    ),
    ("/v3/tokens", frozenset({tokens.WORKSPACE})),
    ("/v3/workspace", frozenset({tokens.WORKSPACE})),
    ("/v3/", frozenset({tokens.WORKSPACE, tokens.ACCESS})),
    ("/v2/agents/", frozenset({tokens.WORKSPACE, tokens.AGENT})),
    ("/agents/", frozenset({tokens.WORKSPACE, tokens.AGENT})),
    ("/v2/clients", frozenset({tokens.WORKSPACE})),
    ("/v2/orgs", frozenset({tokens.WORKSPACE})),
)


class Caller(NamedTuple):
    """A request's credential. `agent_id` is set for an agent key, which gives access to only that agent.

    `scopes` is None if the credential may use all routes of its kind (`privileges`). `ends_at` is in Unix seconds, or
    None if the credential does not expire. For a visitor token, `conversation` is its conversation's fingerprint.
    `agent_created` is then also set, and `conversation_created` if the conversation existed (`credentials.visitors`).
    """

    workspace_id: str
    kind: str
    credential_id: str
    agent_id: str | None
    scopes: frozenset[str] | None
    token_hash: str
    ends_at: int | None
    conversation: str | None
    agent_created: float | None
    conversation_created: str | None
    name: str


class _CachedCaller(NamedTuple):
    """A cached caller, with the times when it was looked up and when the entry expires.

    Times are wall-clock Unix milliseconds, because the monotonic clock may stop while the function is frozen between
    requests.
    """

    since: int
    until: int
    caller: Caller


_caller: ContextVar[Caller] = ContextVar("caller")
_cache: dict[str, _CachedCaller] = {}  # by token hash


def caller() -> Caller:
    """Return the caller of the current request."""
    return _caller.get()


def author() -> str | None:
    """Return the author of the current request's writes, or None if there is no caller."""
    current = _caller.get(None)
    return storage.author_of(current.kind, current.credential_id, current.name) if current else None


def authenticate(request: Request, get_response: Callable[[Request], Response]) -> Response:
    """Raise Unauthorized for an unknown token, and Forbidden if the route does not accept the token (middleware)."""
    if is_open(request.path):
        return get_response(request)
    token_hash = tokens.fingerprint(unchecked_bearer(request))
    if token_hash not in _cache:
        bearer(request)  # malformed tokens cost no database request
    authenticated = _find(token_hash).caller
    if authenticated.kind not in credentials_for(request.path):
        raise errors.Forbidden()
    request.context["workspaceId"] = authenticated.workspace_id
    token = _caller.set(authenticated)
    try:
        return get_response(request)
    finally:
        _caller.reset(token)


def require_own_path(request: Request, get_response: Callable[[Request], Response]) -> Response:
    """Raise Forbidden if an agent key is used for another agent, or a visitor token for another conversation.

    This middleware must run after path values are decoded.
    """
    if not is_open(request.path):
        agent_id, conversation, values = caller().agent_id, caller().conversation, request.uri_params or {}
        if agent_id is not None and values.get("agent_id") != agent_id:
            raise errors.Forbidden()
        if conversation and conversation != tokens.conversation_fingerprint(bearer(request), values["user_id"]):
            raise errors.Forbidden()
    return get_response(request)


@cache
def is_open(path: str) -> bool:
    """Return whether a route requires no bearer token."""
    return path in OPEN_ROUTES or path.startswith(_OPEN_PREFIXES)


@contextmanager
def acting_as(acting: Caller) -> Iterator[None]:
    """Make `acting` the caller and author of the current request inside the block."""
    token = _caller.set(acting)
    try:
        with storage.written_by(author()):
            yield
    finally:
        _caller.reset(token)


@cache
def credentials_for(path: str) -> frozenset[str]:
    """Return the credential kinds that a route accepts. A path outside the table accepts none (default deny)."""
    kinds = next((kinds for prefix, kinds in ROUTE_CREDENTIALS if path.startswith(prefix)), frozenset[str]())
    return kinds | {tokens.VISITOR} if path in VISITOR_ROUTES else kinds


def forget(token_hash: str) -> None:
    """Remove a changed credential from the cache. Other processes may use it for up to 30 more seconds."""
    _cache.pop(token_hash, None)


def clear_cache() -> None:
    """Remove all credentials from the cache."""
    _cache.clear()


def bearer(request: Request) -> str:
    """Return a request's bearer token. Raise Unauthorized if it is missing or malformed."""
    token = unchecked_bearer(request)
    if not tokens.is_well_formed(token):
        raise errors.Unauthorized()
    return token


def unchecked_bearer(request: Request) -> str:
    """Return a request's bearer token, even if it is malformed, or an empty string if there is none."""
    header: str = request.headers.get("authorization", "")
    scheme, _, token = header.partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""


def _find(token_hash: str) -> _CachedCaller:
    cached = _cache.get(token_hash)
    if cached is None or not cached.since <= clock.milliseconds() < cached.until:
        return _look_up(token_hash)
    return cached


def _look_up(token_hash: str) -> _CachedCaller:
    since = clock.milliseconds()  # taken before the read, because the credential may be revoked right after it
    row = credentials.find(token_hash)
    if row is None:
        forget(token_hash)
        raise errors.Unauthorized()
    if row.suspended:
        raise errors.WorkspaceSuspended()
    # A cache entry expires no later than its credential.
    until = since + CACHE_SECONDS * 1000
    until = until if row.ends_at is None else min(until, row.ends_at * 1000)
    if row.issuer is not None:  # a visitor token, which becomes invalid with its issuer
        issuer = _find(row.issuer)
        if issuer.caller.credential_id != row.issuer_id:
            raise errors.Unauthorized()
        until = min(until, issuer.until)
    authenticated = Caller(
        row.workspace,
        row.kind,
        row.credential_id,
        row.agent_id,
        row.granted,
        token_hash,
        row.ends_at,
        row.conversation,
        row.agent_created,
        row.conversation_created,
        row.name,
    )
    if len(_cache) >= _CACHE_SIZE:
        _cache.clear()
    _cache[token_hash] = _CachedCaller(since, until, authenticated)
    return _cache[token_hash]
