"""The page on which operators choose an organisation's agents from a list that can be searched."""

from typing import Any

from chalice.app import Response

from chalicelib.extensions.console.access import calls, guard, organisation_list, rights, sessions
from chalicelib.extensions.console.access.calls import commit_now, query_string
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.presentation import pages, template_filters
from chalicelib.http import current_request
from chalicelib.storage import Document

_PATH = "/v2/orgs/{org_id}"
_AGENTS = "widgetIDs"
# The prefixes of the form's fields for the agents that the page lists, and for the checked agents.
_LISTED, _CHECKED = "listed.", "agent."
_PAGE_SIZE = 50


@signed_in("/settings")
def read_agents(session: Session, org_id: str) -> Response:
    """List the organisation's agents, and the agents that match a search, with a check box for each.

    Each agent's other organisations are named, which costs one request per 100 organisations.
    """
    rights.require_operator(session)
    organisation, _ = calls.read(_PATH, org_id=org_id)
    values = {"organisation": organisation, "chosen": organisation.get(_AGENTS) or [], **_listed(org_id)}
    others = (one for one in organisation_list.read_all()[0] if one["ID"] != org_id)
    values["others"] = organisation_list.by_agent(others, values["titles"])
    values["saved"] = current_request.query_value("saved")
    return guard.page(session, "organisation_agents.html", "/settings", **values)


@signed_in("/settings")
def save_agents(session: Session, org_id: str) -> Response:
    """Add the checked agents to the organisation, and remove the listed agents that are not checked.

    Agents that the page did not list keep their place, so people who save different pages do not undo each other.
    """
    rights.require_operator(session)
    sent = guard.form()
    listed, checked = _values(sent, _LISTED), _values(sent, _CHECKED)
    commit_now(lambda: _save(org_id, listed, checked))
    sessions.clear_cache()
    return pages.saved(session.workspace_id, f"/settings/orgs/{org_id}/agents", "true")


def add_agent(org_id: str, agent_id: str) -> None:
    """Add an agent to an organisation. Raise NotFound."""
    commit_now(lambda: _save(org_id, set(), {agent_id}))
    sessions.clear_cache()


def _listed(org_id: str) -> Document:
    """Return the query, the titles of its agents, and the link to the next page, which is None at the end.

    The first page without a search begins with the organisation's own agents.
    """
    query = {name: current_request.query_value(name) for name in ("q", "page", "cursor")}
    matching, position = _search(query)
    own = {} if any(query.values()) else _own(org_id)
    following = query_string({"q": query["q"], **position}) if position else None
    return {"query": query, "titles": {**own, **matching}, "following": following}


def _values(sent: dict[str, str], prefix: str) -> set[str]:
    return {value for name, value in sent.items() if name.startswith(prefix)}


def _save(org_id: str, listed: set[str], checked: set[str]) -> None:
    organisation, tag = calls.read(_PATH, org_id=org_id)
    before = organisation.get(_AGENTS) or []
    kept = [agent_id for agent_id in before if agent_id not in listed or agent_id in checked]
    agent_ids = [*kept, *sorted(checked - {*before})]
    if agent_ids != before:
        calls.send("POST", _PATH, {"name": organisation["name"], _AGENTS: agent_ids}, tag, org_id=org_id)


def _own(org_id: str) -> dict[str, str]:
    page = calls.get("/v3/orgs/{org_id}/agents", {"limit": _PAGE_SIZE}, org_id=org_id)
    return _titles(page["data"])


def _search(query: dict[str, str | None]) -> tuple[dict[str, str], Document]:
    """Return the titles of a page of matching agents, and the query of the next page, which is empty at the end."""
    sent = {"search": query["q"], "page": query["page"], "cursor": query["cursor"], "limit": _PAGE_SIZE}
    page = calls.get("/v3/agents/search", sent)
    if not page["hasMore"]:
        return _titles(page["agents"]), {}
    cursor = page.get("nextCursor")
    return _titles(page["agents"]), {"cursor": cursor} if cursor else {"page": page["page"] + 1}


def _titles(agents: list[Any]) -> dict[str, str]:
    return {agent["ID"]: template_filters.agent_title(agent) for agent in agents}
