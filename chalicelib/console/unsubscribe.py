"""The page behind the link in a mail that ends mails. It needs no session: the link has a sealed token."""

from chalice.app import Response

from chalicelib import storage
from chalicelib.clients import notified
from chalicelib.clients import store as clients
from chalicelib.console import guard, pages, rendering, sessions, settings
from chalicelib.console.calls import committed
from chalicelib.console.notifications import unsubscribing

# Without a session, pages are in the first language.
_LANGUAGE = rendering.LANGUAGES[0]
_AUTHOR = "unsubscribe link"


def read_unsubscribe(workspace: str, token: str) -> Response:
    """Ask whether to end the mails. Programs that check links follow them, so this changes nothing."""

    def ask() -> Response:
        unsubscribing.client_of(workspace, token)
        return _page(workspace, False)

    return guard.with_error_page(ask, _LANGUAGE)


def unsubscribe(workspace: str, token: str) -> Response:
    """End the mails to the client of the token."""

    def end() -> Response:
        client_id = unsubscribing.client_of(workspace, token)
        with storage.written_by(storage.author_of("client", client_id, _AUTHOR)):
            committed(lambda: _end_mails(workspace, client_id))
        sessions.clear_cache()
        return _page(workspace, True)

    return guard.with_error_page(end, _LANGUAGE)


def _end_mails(workspace_id: str, client_id: str) -> None:
    row = clients.find(workspace_id, client_id)
    document = row.open() if row else {}
    if row and notified.by_email(document):
        clients.save(row, document, {**document, **settings.NOTIFICATIONS[""]})


def _page(workspace: str, is_done: bool) -> Response:
    return pages.page("unsubscribe.html", _LANGUAGE, session=None, workspace=workspace, is_done=is_done)
