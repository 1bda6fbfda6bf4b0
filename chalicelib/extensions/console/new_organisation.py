"""The page on which operators create an organisation, whose people they can then invite."""

from chalice.app import Response

from chalicelib import errors
from chalicelib.extensions.console import calls, guard, organisation_list, overview, pages, rights
from chalicelib.extensions.console.guard import signed_in
from chalicelib.extensions.console.sessions import Session
from chalicelib.storage import Document

_AGENTS = "widgetIDs"


@signed_in("/settings")
def read_new_organisation(session: Session) -> Response:
    """Show the form for a new organisation. A workspace's only agent is already selected."""
    rights.require_operator(session)
    titles = overview.first_agents(session.workspace_id, overview.MAX_AGENTS).titles
    return _page(session, {f"{_AGENTS}.{agent_id}": "on" for agent_id in titles if len(titles) == 1})


@signed_in("/settings")
def create_organisation(session: Session) -> Response:
    """Create the organisation, once per form, and show the page on which people are added."""
    rights.require_operator(session)
    sent = guard.form()
    try:
        body = {"organisation": _organisation(session, sent)}
        organisation = calls.send_once(sent.get("form_id"), "/v3/orgs", body)["data"]
    except errors.ApiError as error:
        return _page(session, sent, error)
    return pages.saved(session.workspace_id, f"/settings/orgs/{organisation['ID']}", "created")


def _organisation(session: Session, sent: dict[str, str]) -> Document:
    """Return the organisation in the form. Raise Invalid if it has no name."""
    name = sent.get("name", "").strip()
    if not name:
        raise guard.form_error(session, "name")
    names = (field.partition(".") for field, value in sent.items() if value)
    agent_ids = [agent_id for member, _, agent_id in names if member == _AGENTS and agent_id]
    return {"name": name, _AGENTS: agent_ids}


def _page(session: Session, values: dict[str, str], error: errors.ApiError | None = None) -> Response:
    titles, has_more = overview.first_agents(session.workspace_id, overview.MAX_AGENTS)
    issues = {path.partition(".")[0]: rule for path, rule in guard.rules(session, error)}
    return guard.form_page(
        session,
        "new_org.html",
        "/settings",
        error,
        issues=issues,
        values=values,
        titles=titles,
        others=organisation_list.by_agent(organisation_list.read_all()[0], titles),
        has_more_agents=has_more,
    )
