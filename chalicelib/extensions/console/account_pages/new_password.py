"""The page of a one-time link, on which a client sets a password. It needs no session."""

from collections.abc import Callable
from typing import Any

from chalice.app import Response

from chalicelib import errors, storage
from chalicelib.credentials import tokens
from chalicelib.extensions.console.access import calls, guard, session_store, sessions
from chalicelib.extensions.console.account_pages import change_notices, one_time_links
from chalicelib.extensions.console.account_pages.one_time_links import Link
from chalicelib.extensions.console.presentation import pages, rendering
from chalicelib.http import auth, current_request
from chalicelib.workspaces import store as workspaces

_CLIENT, _PASSWORD, _AUTHOR = "/v2/clients/{client_id}", "dashboardPassword", "one-time link"


def read_form(workspace: str, token: str) -> Response:
    """Ask for a password. This changes nothing, because link checkers also open the page."""
    return _with_valid_link(workspace, lambda: _form(workspace, one_time_links.read(workspace, token)))


def save(workspace: str, token: str) -> Response:
    """Set the password of the link's client, and invalidate the client's links and sessions."""

    return _with_valid_link(workspace, lambda: _set_password(workspace, token))


def _set_password(workspace: str, token: str) -> Response:
    guard.require_own_site()
    link, password = one_time_links.read(workspace, token), guard.form().get(_PASSWORD, "")
    try:
        calls.commit_now(lambda: _save(workspace, token, password))
    except one_time_links.InvalidLink:
        raise
    except errors.ApiError as error:
        return _form(workspace, link, error)
    sessions.clear_cache()
    if link.document.get(_PASSWORD):
        change_notices.send(workspace, link.client.client_id, link.document, {_PASSWORD: password})
    return _page(workspace, _language_of(workspace, link), is_done=True, link=None)


def _save(workspace: str, token: str, password: str) -> None:
    """Stage the new password and the link's use. Raise InvalidLink, and the errors of the API operation."""
    link = one_time_links.read(workspace, token)
    one_time_links.stage_use(link)
    workspaces.stage_active(workspace)
    tag, body = f'"{link.client.version_tag}"', {_PASSWORD: password}
    try:
        with auth.acting_as(_caller(link)):
            if password == link.document.get(_PASSWORD):
                sessions.stage_sign_out(link.client)  # the operation would not write an unchanged client
            else:
                calls.send("POST", _CLIENT, body, tag, client_id=link.client.client_id)
    except errors.PreconditionFailed:  # the client has changed since the link was read, so read the link again
        raise storage.ConditionFailed from None


def _caller(link: Link) -> auth.Caller:
    """Return the link's client as the caller of the API operation. It cannot read secrets."""
    return auth.Caller(
        workspace_id=link.client.workspace,
        kind=tokens.SESSION,
        credential_id=link.client.client_id,
        agent_id=None,
        scopes=frozenset(),
        token_hash=link.row.item,
        ends_at=None,
        conversation=None,
        agent_created=None,
        conversation_created=None,
        name=_AUTHOR,
    )


def _with_valid_link(workspace: str, action: Callable[[], Response]) -> Response:
    """Return an action's response, or a page that explains why the link is invalid."""

    def run() -> Response:
        try:
            return action()
        except one_time_links.InvalidLink as error:
            return _page(workspace, guard.language_of(None), error.STATUS_CODE, is_done=False, link=None)

    return guard.with_error_page(run, guard.language_of(None))


def _language_of(workspace: str, link: Link) -> str:
    return rendering.language_of(link.document, session_store.organisation_of(workspace, link.document))


def _form(workspace: str, link: Link, error: errors.ApiError | None = None) -> Response:
    language, status = _language_of(workspace, link), error.STATUS_CODE if error else 200
    t = pages.texts(language)
    rules = [t.of_rule(issue["message"]) for issue in error.issues] if error else []
    wrong = "; ".join(rules) or (guard.sentence(error, language) if error else "")
    return _page(workspace, language, status, is_done=False, link=link, wrong=wrong)


def _page(workspace: str, language: str, status: int = 200, **values: Any) -> Response:
    # The link contains its purpose, because an invalid link may have no row.
    purpose = current_request.query_value("for") or ""
    return pages.page(
        "new_password.html", language, status, session=None, workspace=workspace, purpose=purpose, **values
    )
