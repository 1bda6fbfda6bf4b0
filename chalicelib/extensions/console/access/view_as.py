"""Lets operators view the console as a client, without changing anything. `guard` rejects their forms."""

from urllib.parse import quote

from chalice.app import Response

from chalicelib.extensions.console.access import acts, operator_selection, rights, session_store, sessions
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.presentation import pages
from chalicelib.storage import Document


def begin(session: Session, client: Document, _: str) -> Response:
    """Set the cookie for a client, and open the first page that the client sees. Raise Forbidden for other people."""
    rights.require_operator(session)
    acts.stage(session, acts.VIEW, client["ID"])
    selected = session_store.selection_token(session.token, operator_selection.CLIENT, client["ID"])
    return _redirect(session, "", selected, session_store.LIFETIME)


@signed_in(sessions.END_VIEW)
def end(session: Session) -> Response:
    """Delete the cookie, and return to the client's page."""
    org_id, client_id = session.client.get("orgId"), session.viewed_client_id
    page = f"/settings/orgs/{quote(org_id)}/clients/{quote(client_id)}" if org_id and client_id else ""
    return _redirect(session, page, "", 0)


def _redirect(session: Session, page: str, value: str, seconds: int) -> Response:
    cookie = pages.cookie(operator_selection.VIEW_COOKIE, session.workspace_id, value, seconds)
    return pages.redirect(f"/{session.workspace_id}{page}", cookie)
