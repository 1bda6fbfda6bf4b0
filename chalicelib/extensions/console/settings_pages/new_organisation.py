"""The page on which operators create an organisation, with its first person and its first agent if they like.

One commit creates all of them, so a form with an error creates nothing.
"""

from chalice.app import Response

from chalicelib import errors, ids
from chalicelib.extensions.console.access import calls, guard, organisation_list, rights, sessions, visible_agents
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.notifications import mail_settings
from chalicelib.extensions.console.presentation import pages
from chalicelib.extensions.console.settings_pages import people
from chalicelib.http import current_request
from chalicelib.storage import Document

OWN = "own-"
"""The beginning of the ids of organisations that the form for a colleague creates. All others are customers."""
_AGENTS, _PASSWORD, _ADMINISTRATOR = "widgetIDs", "dashboardPassword", "isOrgAdmin"
# The field for the person's name, because `name` is the organisation's.
_PERSON = "person"
# The fields that are filled in if the form contains a person.
_OF_PERSON = (_PERSON, "email", _PASSWORD)
# The fields that differ between two submissions of the same form, and have no effect on the records.
_OF_FORM = ("form", "form_id")


@signed_in("/settings")
def read_new_organisation(session: Session) -> Response:
    """Show the form for a new organisation.

    For a colleague, a workspace's only agent is already selected. A customer may see nothing that is not chosen.
    """
    rights.require_operator(session)
    if not _is_for_colleague():
        return _page(session, {})
    titles = visible_agents.first(session.workspace_id, visible_agents.MAX_AGENTS).titles
    selected = {f"{_AGENTS}.{agent_id}": "on" for agent_id in titles if len(titles) == 1}
    return _page(session, {_ADMINISTRATOR: "on", **selected})


@signed_in("/settings")
def create_organisation(session: Session) -> Response:
    """Create the organisation with its person and agent, once per form, invite the person and show the organisation."""
    rights.require_operator(session)
    sent = guard.form()
    content = {name: value for name, value in sent.items() if name not in _OF_FORM}
    own_id = f"{OWN}{ids.new_id()}" if _is_for_colleague() else None
    try:
        created = calls.commit_once(sent.get("form_id"), "/v3/orgs", content, lambda: _create(session, sent, own_id))
    except errors.ApiError as error:
        return _page(session, sent, error)
    sessions.clear_cache()
    saved = _invite(session, created["invited"]) if created["invited"] else "created"
    return pages.saved(session.workspace_id, f"/settings/orgs/{created['ID']}", saved)


def _is_for_colleague() -> bool:
    return current_request.query_value("for") == "colleague"


def _create(session: Session, sent: dict[str, str], own_id: str | None) -> Document:
    """Stage the records, and return the organisation's id and that of a person who gets an invitation, or None."""
    organisation = _organisation(session, sent)
    if title := sent.get("title", "").strip():
        organisation[_AGENTS].append(calls.send("POST", "/v3/agents", {"agent": {"title": title}})["data"]["ID"])
    org_id = _add(organisation, own_id)
    has_person = any(sent.get(name, "").strip() for name in _OF_PERSON)
    person = people.add(session, org_id, {**sent, "name": sent.get(_PERSON, "")}) if has_person else {}
    return {"ID": org_id, "invited": None if sent.get(_PASSWORD) else person.get("ID")}


def _add(organisation: Document, own_id: str | None) -> str:
    """Stage an organisation with the id of the operator's own organisation, or a generated id. Return its id."""
    if own_id is None:
        return str(calls.send("POST", "/v3/orgs", {"organisation": organisation})["data"]["ID"])
    calls.send("POST", "/v2/orgs/{org_id}", organisation, org_id=own_id)
    return own_id


def _organisation(session: Session, sent: dict[str, str]) -> Document:
    """Return the organisation in the form. Raise Invalid if it has no name."""
    name = sent.get("name", "").strip()
    if not name:
        raise guard.form_error(session, "name")
    names = (field.partition(".") for field, value in sent.items() if value)
    agent_ids = [agent_id for member, _, agent_id in names if member == _AGENTS and agent_id]
    return {"name": name, _AGENTS: agent_ids}


def _invite(session: Session, client_id: str) -> str:
    """Invite the person, and return the confirmation. The organisation's page offers to send the invitation again."""
    try:
        people.invite(session, client_id)
    except errors.Unavailable:
        return "created_not_invited"
    return "created_invited"


def _issues(session: Session, error: errors.ApiError | None) -> dict[str, str]:
    """Return the broken rules by field. Without a field for a password, only a complete email gets an invitation."""
    issues = {path.partition(".")[0]: rule for path, rule in people.issues(session, error).items()}
    if mail_settings.are_complete() and issues.pop(_PASSWORD, ""):
        issues.setdefault("email", guard.texts(session)("no_mail.address"))
    return issues


def _page(session: Session, values: dict[str, str], error: errors.ApiError | None = None) -> Response:
    titles, has_more = visible_agents.first(session.workspace_id, visible_agents.MAX_AGENTS)
    return guard.form_page(
        session,
        "new_org.html",
        "/settings",
        error,
        issues=_issues(session, error),
        values=values,
        titles=titles,
        others=organisation_list.by_agent(organisation_list.read_all()[0], titles),
        has_more_agents=has_more,
        sends_mail=mail_settings.are_complete(),
        is_for_colleague=_is_for_colleague(),
    )
