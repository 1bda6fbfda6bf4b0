"""What an operator has selected for all pages: a client, an organisation and a time zone, each in a cookie.

Another cookie contains the webhooks that fail.
"""

from typing import TYPE_CHECKING

from chalice.app import Request

from chalicelib.clients import store as clients
from chalicelib.extensions.console import cookies, session_store, webhook_health

if TYPE_CHECKING:
    from chalicelib.extensions.console.sessions import Session

VIEW_COOKIE, ZONE_COOKIE, ORGANISATION_COOKIE = "__Secure-cams-view", "__Secure-cams-zone", "__Secure-cams-org"


def as_selected(request: Request, session: "Session") -> "Session":
    """Return an operator's session with what the operator has selected. A client's session remains unchanged.

    Viewing the console as a client costs up to two requests, and a selected organisation one. A removed client sees
    nothing, and the view continues until the operator ends it. A removed organisation is no longer selected.
    """
    if session.row.client_id is not None:
        return session
    text = cookies.read(request, VIEW_COOKIE)
    client_id = session_store.viewed_client(session.token, text) if text else None
    if client_id is not None:
        return _viewing(session, client_id)
    org_id = cookies.read(request, ORGANISATION_COOKIE)
    organisation = session_store.organisation_of(session.workspace_id, {"orgId": org_id}) if org_id else {}
    selected = {**organisation, "ID": org_id} if organisation else None
    zone, failing = (cookies.read(request, name) for name in (ZONE_COOKIE, webhook_health.COOKIE))
    return session._replace(client={"timezone": zone}, selected=selected, failing=webhook_health.parse(failing))


def _viewing(session: "Session", client_id: str) -> "Session":
    row = clients.find(session.workspace_id, client_id)
    client = row.open() if row else {}
    organisation = session_store.organisation_of(session.workspace_id, client)
    return session._replace(client=client, organisation=organisation, viewed_client_id=client_id)
