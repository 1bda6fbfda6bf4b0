"""The unsubscribe page. It needs no session, because the link contains a sealed token."""

from collections.abc import Callable

from chalice.app import Response

from chalicelib import errors, storage
from chalicelib.clients import store as clients
from chalicelib.extensions.console.access import guard, sessions
from chalicelib.extensions.console.access.calls import commit_now
from chalicelib.extensions.console.notifications import preferences, recipients, unsubscribe_token
from chalicelib.extensions.console.presentation import pages, rendering
from chalicelib.http import current_request

_AUTHOR = "unsubscribe link"
_FORM = "application/x-www-form-urlencoded"


def read_unsubscribe(workspace: str, token: str) -> Response:
    """Ask whether to unsubscribe. This changes nothing, because link checkers also open the page."""

    def ask() -> Response:
        client_id = unsubscribe_token.client_of(workspace, token)
        return _page(workspace, _language_of(workspace, client_id))

    return _with_valid_link(workspace, ask)


def unsubscribe(workspace: str, token: str) -> Response:
    """Unsubscribe the client that the token identifies, or undo this."""

    def end() -> Response:
        client_id, is_undone = unsubscribe_token.client_of(workspace, token), _is_undo()
        language = _language_of(workspace, client_id)
        with storage.written_by(storage.author_of("client", client_id, _AUTHOR)):
            commit_now(lambda: _save(workspace, client_id, "on" if is_undone else ""))
        sessions.clear_cache()
        return _page(workspace, language, is_done=not is_undone, is_undone=is_undone)

    return _with_valid_link(workspace, end)


def _with_valid_link(workspace: str, action: Callable[[], Response]) -> Response:
    """Return an action's response. If the token is invalid, return a page with other ways to stop the emails."""

    def run() -> Response:
        try:
            return action()
        except errors.NotFound as error:
            return _page(workspace, guard.language_of(None), status=error.STATUS_CODE, is_valid=False)

    return guard.with_error_page(run, guard.language_of(None))


def _is_undo() -> bool:
    """Return whether the page's button to undo sent the request. Email programs may send another type of form."""
    if not str(current_request.request().headers.get("content-type", "")).startswith(_FORM):
        return False
    if guard.form().get("action") != "undo":
        return False
    guard.require_own_site()
    return True


def _save(workspace_id: str, client_id: str, choice: str) -> None:
    """Turn the client's emails on or off, unless they already are. A deleted client stays deleted."""
    row = clients.find(workspace_id, client_id)
    document = row.open() if row else {}
    if row and preferences.by_email(document) != bool(choice):
        clients.save(row, document, {**document, **preferences.BY_STATE[choice]})


def _language_of(workspace_id: str, client_id: str) -> str:
    """Return the language of the client's emails, or English if the client gets no emails."""
    person = recipients.find(workspace_id, client_id)
    return rendering.language_of(person.client, person.organisation) if person else rendering.LANGUAGES[0]


def _page(workspace: str, language: str, status: int = 200, **values: bool) -> Response:
    states = {"is_valid": True, "is_done": False, "is_undone": False, **values}
    return pages.page("unsubscribe.html", language, status, session=None, workspace=workspace, **states)
