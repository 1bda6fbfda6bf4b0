"""Workspace settings for operators: the lists of organisations and webhooks, and the access tokens."""

from contextlib import suppress
from typing import Any

from chalice.app import Response

from chalicelib import errors
from chalicelib.credentials import scopes
from chalicelib.extensions.console.access import calls, guard, rights
from chalicelib.extensions.console.access.calls import commit_now
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.presentation import pages, webhook_health
from chalicelib.extensions.console.settings_pages import organisation_facts
from chalicelib.http import current_request
from chalicelib.storage import Document

LIFETIMES = (30, 90, 365)
# Named sets of scopes for common purposes. An empty set gives access to all v3 routes for access tokens.
SCOPE_SETS: dict[str, tuple[str, ...]] = {
    "all": (),
    "read": tuple(sorted(scopes.READ)),
    "chat": ("agents:read", "conversations:write", "leads:write"),
    "leads": ("conversations:read", "leads:write"),
    "reports": ("analytics:read", "conversations:read", "leads:read"),
    "set_up": ("agents:write", "tools:write", "webhooks:write"),
}
_DAY_SECONDS = 24 * 60 * 60
_PAGE_SIZE = 100


@signed_in("/settings")
def read_settings(session: Session) -> Response:
    """Redirect administrators to their organisation. Show operators the workspace settings."""
    if session.client_id is not None:
        org_id = session.client.get("orgId") or ""
        rights.require_organisation(session, org_id)
        return pages.redirect(f"/{session.workspace_id}/settings/orgs/{org_id}")
    return _page(session, {})


@signed_in("/settings")
def issue_token(session: Session) -> Response:
    """Issue an access token, and show it once."""
    rights.require_operator(session)
    sent = guard.form()
    try:
        issued = calls.send_once(sent.get("form_id"), "/v3/tokens", {"token": _token(sent)})["data"]
    except errors.ApiError as error:
        return _page(session, sent, error=error)
    return _page(session, {}, issued=issued)


@signed_in("/settings")
def revoke_token(session: Session, token_id: str) -> Response:
    """Revoke an access token."""
    rights.require_operator(session)
    with suppress(errors.NotFound):  # the form has been submitted twice
        commit_now(lambda: calls.send("DELETE", "/v3/tokens/{token_id}", None, token_id=token_id))
    return pages.saved(session.workspace_id, "/settings#tokens", "revoked")


def _token(sent: dict[str, str]) -> Document:
    """Return the token settings from the form. Chosen scopes replace the named set. Raise Invalid."""
    days = sent.get("days", "")
    if days not in map(str, LIFETIMES):
        raise errors.Invalid.member("days", f"must be one of {', '.join(map(str, LIFETIMES))}")
    chosen = [scope for scope in scopes.ALL if sent.get(f"scopes.{scope}")]
    name = sent.get("scope_set", "all")
    if name not in SCOPE_SETS:
        raise errors.Invalid.member("scope_set", f"must be one of {', '.join(SCOPE_SETS)}")
    granted = chosen or [*SCOPE_SETS[name]]
    token: Document = {"name": sent.get("name", "").strip(), "expiresInSeconds": int(days) * _DAY_SECONDS}
    return {**token, "scopes": granted} if granted else token


def _page(
    session: Session,
    values: dict[str, str],
    error: errors.ApiError | None = None,
    issued: Any = None,
) -> Response:
    get = calls.get
    tokens = get("/v3/tokens", {"limit": _PAGE_SIZE, "cursor": current_request.query_value("tokens")})
    webhooks = get("/v3/webhooks")["data"]
    return guard.form_page(
        webhook_health.known(session, webhooks),
        "settings.html",
        "/settings",
        error,
        **organisation_facts.read(session),
        webhooks=webhooks,
        tokens=tokens["data"],
        more_tokens=tokens.get("nextCursor"),
        values=values,
        issued=issued,
        saved=current_request.query_value("saved"),
        lifetimes=LIFETIMES,
        scopes=scopes.ALL,
        scope_sets=SCOPE_SETS,
    )
