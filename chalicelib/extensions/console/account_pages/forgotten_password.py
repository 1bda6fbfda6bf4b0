"""The page on which a person who has forgotten the password requests an email with a one-time link.

It needs no session. Its response is the same for every email, because the request only sends a queue message, and the
function that sends emails looks up the client.
"""

from chalice.app import Response

from chalicelib import storage
from chalicelib.clients import store as clients
from chalicelib.extensions.console.access import guard, session_store
from chalicelib.extensions.console.notifications import mail_settings
from chalicelib.extensions.console.presentation import pages
from chalicelib.workspaces import store as workspaces

_MAX_EMAIL = 320  # characters


def read_form(workspace: str) -> Response:
    """Ask for the person's email."""
    return _page(workspace)


def request_link(workspace: str) -> Response:
    """Request an email with a link, and show the same page for every email, or an error page after too many requests.

    The form of the sign-in asks for the page only, which then contains the email.

    A request for an unknown workspace writes nothing.
    """

    def run() -> Response:
        guard.require_own_site()
        email = guard.form().get("email", "")
        if "ask" in guard.form():
            return _page(workspace, email[:_MAX_EMAIL])
        (row,) = storage.find_many([workspaces.key(workspace)])
        if row is not None and mail_settings.are_complete():
            session_store.count_link_request(workspace, email, session_store.network_of(guard.address()))
            _send(workspace, email)
        return _page(workspace, is_done=True)

    return guard.with_error_page(run, guard.language_of(None))


def _send(workspace_id: str, email: str) -> None:
    from chalicelib.extensions.console import queue

    claim = clients.email_key(workspace_id, email).sort or ""
    queue.send(workspace_id, [queue.SendResetLink(workspace_id, claim)])


def _page(workspace: str, email: str = "", is_done: bool = False) -> Response:
    return pages.page(
        "forgot_password.html",
        guard.language_of(None),
        session=None,
        workspace=workspace,
        email=email,
        is_done=is_done,
        sends_mail=mail_settings.are_complete(),
    )
