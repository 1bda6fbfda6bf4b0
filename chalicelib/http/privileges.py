"""Least privilege (§5): what credentials other than the workspace key may do.

- An access token's scopes permit operations on the corresponding resources.
- An access token with scopes, or a read-only token, cannot read members that the model declares as secret.
- A visitor token can read only the members that the model declares as public.
- An agent key can read its agent's whole v2 form except `SECRET_API_KEY`.
- Only the workspace key sets `SECRET_API_KEY`. An access token gets warnings about members that outlive the token.
"""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from chalice.app import Request, Response

from chalicelib import errors
from chalicelib.credentials import scopes, tokens
from chalicelib.http import auth
from chalicelib.storage import Document

if TYPE_CHECKING:
    from chalicelib.http.wire import WireModel

AGENT_KEY = "SECRET_API_KEY"

_GetResponse = Callable[[Request], Response]
# Returns a record's model. Importing a model takes time, so this function is called only if members are hidden.
LazyModel = Callable[[], type["WireModel"]]


def require_scope(routes: Mapping[str, Mapping[str, Any]]) -> Callable[[Request, _GetResponse], Response]:
    """Return a middleware that raises Forbidden if an access token lacks the operation's scope."""

    def middleware(request: Request, get_response: _GetResponse) -> Response:
        if not auth.is_open(request.path) and (granted := auth.caller().scopes) is not None:
            declared = routes[request.path][request.method].view_function.operation
            scope = declared.scope(request.method)
            if not scopes.covers(granted, scope):
                raise errors.Forbidden(f"The access token lacks the scope {scope}.")
        return get_response(request)

    return middleware


def sees_secrets() -> bool:
    """Return whether the caller may read secret members."""
    return auth.caller().scopes is None and auth.caller().kind != tokens.VISITOR


def visible(record: Document, model: LazyModel) -> Document:
    """Return the record members that the caller may read. `model` returns the record's model."""
    if sees_secrets():
        return record
    from chalicelib.http import projections

    select = projections.public if auth.caller().kind == tokens.VISITOR else projections.without_secrets
    return select(model(), record)


def keep_hidden(name: str, before: Document, after: Document, model: LazyModel) -> Document:
    """Return `after` with the hidden members restored in the list `name`, which a change replaces as a whole.

    An entry keeps the secret members of the previous entry with the same id, unless the change sets them.
    """
    if name not in after:
        return after
    hidden: dict[str, list[Document]] = {}
    for entry, shown in zip(before.get(name, ()), visible(before, model).get(name, ()), strict=True):
        hidden.setdefault(entry["id"], []).append({one: entry[one] for one in entry.keys() - shown.keys()})
    kept = [hidden[entry["id"]].pop(0) if hidden.get(entry.get("id")) else {} for entry in after[name]]
    return {**after, name: [{**secrets, **entry} for secrets, entry in zip(kept, after[name], strict=True)]}


def keep_sent_back(before: Document, after: Document, model: LazyModel) -> Document:
    """Return `after`. List entries that the caller sends back unchanged keep the stored entries' hidden members."""
    return after if sees_secrets() else _keep_sent_back(model(), before, after)


def _keep_sent_back(model: Any, before: Document, after: Document) -> Document:
    from chalicelib.http import projections

    kept = dict(after)
    for name, inner in projections.nested_models(model).items():
        old, new = before.get(name), after.get(name)
        if isinstance(old, dict) and isinstance(new, dict):
            kept[name] = _keep_sent_back(inner, old, new)
        elif isinstance(old, list) and isinstance(new, list):
            entries = [entry for entry in old if isinstance(entry, dict)]
            keep = _keep_by_id if "id" in inner.model_fields else _keep_by_content
            kept[name] = keep(inner, entries, new)
    return kept


def _keep_by_id(model: Any, before: list[Document], after: list[Document]) -> list[Document]:
    """Keep hidden members in a list whose entries were merged by id. Only lists nested in the entries were replaced."""
    stored = {entry["id"]: entry for entry in before}
    return [_keep_sent_back(model, stored.get(entry["id"], {}), entry) for entry in after]


def _keep_by_content(model: Any, before: list[Document], after: list[Document]) -> list[Document]:
    from chalicelib.http import projections

    stored: dict[str, list[Document]] = {}
    for entry in before:
        stored.setdefault(_content(projections.without_secrets(model, entry)), []).append(entry)
    return [same.pop(0) if (same := stored.get(_content(entry))) else entry for entry in after]


def _content(entry: Document) -> str:
    return json.dumps(entry, sort_keys=True)


def for_agent_key(agent: Document) -> Document:
    """Return an agent's document as an agent key may see it. For other callers, return the document unchanged.

    The agent key is removed, so that a replaced key cannot read its successor.
    """
    if auth.caller().kind == tokens.AGENT:
        agent.pop(AGENT_KEY, None)
    return agent


def guard_agent_key(before: Document, after: Document, path: str = AGENT_KEY) -> Document:
    """Return `after`. `path` is the agent key's path in the body.

    Raise Forbidden if `after` changes the agent key and the caller is not the workspace key, or acts with scopes. Raise
    Invalid if the new key is malformed. Earlier releases stored any text, so a stored key may be sent back.
    """
    key = after.get(AGENT_KEY)
    if key != before.get(AGENT_KEY):
        if auth.caller().kind != tokens.WORKSPACE or not sees_secrets():
            raise errors.Forbidden(f"Only the workspace key can set {AGENT_KEY}; omit this member.")
        if key is not None and not tokens.is_agent_key(key):
            raise errors.Invalid.member(path, tokens.AGENT_KEY_RULE)
    return after


def warn_of_lasting(*paths: str) -> list[errors.MemberIssue]:
    """Return warnings that these members outlive the caller's access token. The workspace key gets none."""
    if auth.caller().kind != tokens.ACCESS:
        return []
    return [
        errors.MemberIssue(path=path, message="remains in effect after this access token expires") for path in paths
    ]
