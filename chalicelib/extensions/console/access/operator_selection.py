"""What an operator has selected for all pages, in cookies: a client, an organisation, and preferences.

Another cookie contains the webhooks that fail.
"""

from typing import TYPE_CHECKING

from chalice.app import Request

from chalicelib.clients import store as clients
from chalicelib.extensions.console.access import cookies, session_store
from chalicelib.extensions.console.presentation import pages, webhook_health

if TYPE_CHECKING:
    from chalicelib.extensions.console.access.sessions import Session

VIEW_COOKIE, ZONE_COOKIE, ORGANISATION_COOKIE = "__Secure-cams-view", "__Secure-cams-zone", "__Secure-cams-org"
# The kinds of records that an operator can select in a session.
CLIENT, ORGANISATION = "view", "organisation"

FIRST_STEPS, HIDDEN = "firstSteps", "hidden"
"""The preference for the first steps on the overview, and its value without them."""
# The preferences in the order of the cookie. Cookies of earlier releases contain only the last ones.
_PREFERENCES = (FIRST_STEPS, "preferredLanguage", "timezone")
_SEPARATOR, _REMEMBERED_SECONDS = ".", 365 * 24 * 60 * 60
# The lists with their files, updates and records. Only these may show an agent outside the selected organisation.
_LISTS = tuple(f"/console/{{workspace}}/{name}" for name in ("convos", "inbox", "leads", "analytics"))


def as_selected(request: Request, session: "Session") -> "Session":
    """Return an operator's session with what the operator has selected. A client's session remains unchanged.

    Viewing the console as a client costs up to two requests, and a selected organisation one. A removed client sees
    nothing, and the view continues until the operator ends it. A removed organisation is no longer selected.
    """
    if session.row.client_id is not None:
        return session
    client_id = _selected(request, session, VIEW_COOKIE, CLIENT)
    if client_id is not None:
        return _viewing(session, client_id)
    zone, failing = (cookies.read(request, name) for name in (ZONE_COOKIE, webhook_health.COOKIE))
    session = session._replace(client=_preferences(zone), failing=webhook_health.parse(failing))
    org_id = _selected(request, session, ORGANISATION_COOKIE, ORGANISATION)
    organisation = session_store.organisation_of(session.workspace_id, {"orgId": org_id}) if org_id else {}
    if organisation:
        session = session._replace(selected={**organisation, "ID": org_id})
    agent_id = (request.query_params or {}).get("agent") if request.path.startswith(_LISTS) else None
    is_other = organisation and agent_id and agent_id not in (session.agent_ids or ())
    return session._replace(other_agent=agent_id) if is_other else session


def preferences_cookie(session: "Session", change: dict[str, str]) -> str:
    """Return the cookie with an operator's preferences after a change of valid values."""
    values = {**session.client, **change}
    text = _SEPARATOR.join(values[name] for name in _PREFERENCES)
    return pages.cookie(ZONE_COOKIE, session.workspace_id, text, _REMEMBERED_SECONDS)


def _preferences(text: str) -> dict[str, str]:
    missing = [""] * len(_PREFERENCES)
    return dict(zip(_PREFERENCES, [*missing, *text.split(_SEPARATOR)][-len(_PREFERENCES) :], strict=True))


def _selected(request: Request, session: "Session", cookie: str, kind: str) -> str | None:
    text = cookies.read(request, cookie)
    return session_store.selected_id(session.token, kind, text) if text else None


def _viewing(session: "Session", client_id: str) -> "Session":
    row = clients.find(session.workspace_id, client_id)
    client = row.open() if row else {}
    organisation = session_store.organisation_of(session.workspace_id, client)
    return session._replace(client=client, organisation=organisation, viewed_client_id=client_id)
