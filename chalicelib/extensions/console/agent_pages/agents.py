"""The agent pages: the list and the agent form."""

import re
from typing import Any

from chalice.app import Response

from chalicelib import errors, extensions, ids
from chalicelib.agents import listing, store
from chalicelib.extensions.console.access import calls, guard, rights
from chalicelib.extensions.console.access.calls import commit_now, query_string
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.agent_pages import agent_form, tool_arguments
from chalicelib.extensions.console.presentation import pages, template_filters
from chalicelib.http import current_request, parameters
from chalicelib.http.lazy_module import LazyModule
from chalicelib.storage import Document

_counts = LazyModule("chalicelib.extensions.console.figure_pages.agent_counts")
_facts = LazyModule("chalicelib.extensions.console.agent_pages.agent_facts")
_periods = LazyModule("chalicelib.extensions.console.presentation.periods")
_PATH = "/v3/agents/{agent_id}"
_PAGE_SIZE = 50
# The orders of the list, with the order of the API. The last one sorts the agents of a page.
_TITLE, _WAITING = "title", "waiting"
_SORTS = {"changed": "newest", _TITLE: "alphabetical", _WAITING: "newest"}
_MAX_PAGES = 10  # the maximum number of pages that a search in an organisation examines
_SEARCHED = ("title", "description")  # as in the API's search
# The maximum length of a language code as the name of an option, in characters.
_MAX_CODE = 100
_VERSION = re.compile(r"[1-9][0-9]{0,3}")  # the number of a restored version, as the list of versions counts them
_TOOL_TEXTS = ("name", "method", "serverUrl", "description")
# The maximum bytes of all tools as HTML, the bytes of the tags around a tool, and the maximum characters of a text.
_MAX_TOOL_BYTES, _TOOL_BYTES, _MAX_TOOL_TEXT = 100_000, 800, 1_000


@signed_in("/agents")
def list_agents(session: Session) -> Response:
    """List the agents in the person's organisation. Operators list or search the workspace's agents."""
    query = {name: current_request.query_value(name) for name in ("q", "starred", "sort", "days", "page", "cursor")}
    agents, position = _list(session, query)
    agent_ids = [agent["ID"] for agent in agents]
    values: Document = {"query": query, "sorts": _SORTS, "saved": current_request.query_value("saved")}
    values |= _numbers(session, agent_ids) if extensions.has("reports") else {"counts": {}}
    values["facts"] = _facts.read(session, agent_ids)
    values["agents"] = values["facts"].waiting_first(agents) if query["sort"] == _WAITING else agents
    values["following"] = query_string({**query, **position}) if position else None
    return guard.page(session, "agents.html", "/agents", **values)


@signed_in("/agents")
def read_agent(session: Session, agent_id: str) -> Response:
    """Show the agent form and the agent's tools."""
    agent, tag = calls.read(_PATH, agent_id=agent_id)
    return _page(session, agent, tag, agent_form.values(agent))


@signed_in("/agents")
def save_agent(session: Session, agent_id: str) -> Response:
    """Save the form. If the agent has changed since the page was shown, save nothing and show the differences."""
    sent = guard.form(agent_form.MAX_SENT)
    agent, tag = calls.read(_PATH, agent_id=agent_id)
    values = agent_form.submitted_values(agent, sent)
    try:
        if sent.get("tag") != tag and (conflicts := agent_form.conflicts(agent, values)):
            return _page(session, agent, tag, values, conflicts=conflicts)
        _save(session, agent, values, tag)
    except errors.ApiError as error:
        return _page(session, agent, sent.get("tag", ""), values, error=error)
    return pages.saved(session.workspace_id, f"/agents/{agent_id}", "true")


def _numbers(session: Session, agent_ids: list[str]) -> Document:
    """Return the template variables for the agents' counts in the chosen period."""
    choice = _periods.recent_choice(_counts.DAYS)
    choices = (*map(str, _periods.LAST_DAYS), *_periods.MONTHS)
    return {
        "counts": _counts.read(session, agent_ids, choice),
        "names": _counts.NAMES,
        "chosen": choice,
        "choices": choices,
    }


def _list(session: Session, query: dict[str, str | None]) -> tuple[list[Any], Document]:
    """Return a page of agents, and the query of the next page, which is empty at the end."""
    if session.agent_ids is None:
        return _search(query)
    org_id = session.selected["ID"] if session.selected else session.client.get("orgId")
    if not org_id or not session.agent_ids:
        return [], {}
    is_short = len(session.agent_ids) <= _PAGE_SIZE
    summaries = None if is_short or query["cursor"] else _summaries(session.workspace_id, {*session.agent_ids})
    return _search_organisation(org_id, query) if summaries is None else _page_of(summaries, query)


def _summaries(workspace_id: str, agent_ids: set[str]) -> list[Document] | None:
    """Return the index's summaries of these agents, or None in a workspace with over 1,000 agents.

    This costs one request per MB of the index, about 1 KB per agent, and reads no whole agent.
    """
    entries = [*store.list_changes(workspace_id, None, listing.MAX_SEARCHED + 1)]
    if len(entries) > listing.MAX_SEARCHED:
        return None
    return [
        {**store.summary_of(one), "ID": one.agent_id, "lastModified": ids.timestamp_of(one.version_tag) // 1000}
        for one in entries
        if one.agent_id in agent_ids
    ]


def _page_of(agents: list[Document], query: dict[str, str | None]) -> tuple[list[Document], Document]:
    """Return the page of matches that the query describes, and the query of the next page."""
    page = query["page"] or ""
    number = int(page) if page in map(str, range(1, listing.MAX_SEARCHED)) else 1
    matches, end = _matches(agents, query), number * _PAGE_SIZE
    return matches[end - _PAGE_SIZE : end], {"page": number + 1} if len(matches) > end else {}


def _search_organisation(org_id: str, query: dict[str, str | None]) -> tuple[list[Document], Document]:
    """Return the matches on an organisation's next page of agents that has any, and the query of the following page.

    The API does not search one organisation, so this examines up to 10 pages of 50 agents, and sorts only the page.
    """
    position = {"cursor": query["cursor"]}
    for _ in range(_MAX_PAGES):
        page = calls.get("/v3/orgs/{org_id}/agents", {**position, "limit": _PAGE_SIZE}, org_id=org_id)
        matches = _matches(page["data"], query)
        position = {"cursor": page["nextCursor"]} if "nextCursor" in page else {}
        if matches or not position:
            break
    return matches, position


def _matches(agents: list[Document], query: dict[str, str | None]) -> list[Document]:
    """Return the agents that match the query, in its order."""
    text = (query["q"] or "").strip().casefold()
    matches = [one for one in agents if parameters.contains(one, _SEARCHED, text)]
    starred = [one for one in matches if one.get("starred")] if query["starred"] else matches
    return sorted(starred, key=_title if query["sort"] == _TITLE else _latest_change_first)


def _title(agent: Document) -> str:
    return template_filters.agent_title(agent).casefold()


def _latest_change_first(agent: Document) -> int:
    return -(template_filters.unix_seconds(agent.get("lastModified")) or 0)


def _search(query: dict[str, str | None]) -> tuple[list[Any], Document]:
    sent = {"search": query["q"], "starredOnly": query["starred"], "page": query["page"], "cursor": query["cursor"]}
    order = _SORTS.get(query["sort"] or "")
    page = calls.get("/v3/agents/search", {**sent, "sortBy": order, "limit": _PAGE_SIZE})
    if not page["hasMore"]:
        return page["agents"], {}
    cursor = page.get("nextCursor")
    return page["agents"], {"page": None, "cursor": cursor} if cursor else {"page": page["page"] + 1}


def _save(session: Session, agent: Document, values: dict[str, Any], tag: str) -> None:
    """Change an agent that was read with this entity tag to the submitted values. Raise Forbidden and Invalid."""
    change = agent_form.change(agent, values)
    rights.require_limits(session, agent, {**agent, **change})
    if change:
        commit_now(lambda: calls.send("PATCH", _PATH, {"agent": change}, tag, agent_id=agent["ID"]))


def _page(
    session: Session,
    agent: Document,
    tag: str,
    values: dict[str, Any],
    error: errors.ApiError | None = None,
    conflicts: Any = (),
) -> Response:
    """Return an agent's page with these values, and with each error next to its field.

    This costs the requests of `agent_facts.read`.
    """
    members = agent_form.members_that_fit(agent)
    return guard.form_page(
        session,
        "agent.html",
        "/agents",
        error,
        conflicts,
        _issues(session, error, values),
        agent=agent,
        tag=tag,
        values=values,
        groups=agent_form.GROUPS,
        languages=languages(session, values.get("lang", "")),
        left_out=members.left_out,
        others=[name for name in members.rest if name not in agent_form.TECHNICAL],
        facts=_facts.read(session, [agent["ID"]]),
        **_tools(agent),
        saved=current_request.query_value("saved"),
        restored=_VERSION.fullmatch(current_request.query_value("version") or ""),
        service=pages.service_url(),
    )


def _issues(session: Session, error: errors.ApiError | None, values: dict[str, Any]) -> dict[str, str]:
    """Return the broken rules by field. The JSON field has the rules of all members without a field."""
    rules = guard.rules(session, error)
    of_fields = {path: rule for path, rule in rules if path in values}
    others = "\n".join(f"{path}: {rule}" for path, rule in rules if path not in values)
    return {**of_fields, **({agent_form.REST: others} if others else {})}


def languages(session: Session, stored: str) -> list[tuple[str, str]]:
    """Return the options for an agent's language, including a stored code whose name is not known."""
    t = guard.texts(session)
    named = t.all_named("language")
    others = [] if not stored or stored in dict(named) else [(stored, template_filters.truncate(stored, _MAX_CODE))]
    return [("", t("not_set")), *named, *others]


def _tools(agent: Document) -> Document:
    """Return the tools that fit on the page, whether there are more, and whether any text is truncated."""
    tools, left = agent.get("tools") or [], _MAX_TOOL_BYTES
    entries: list[Document] = []
    for tool in tools:
        texts = {name: template_filters.truncate(str(tool.get(name) or ""), _MAX_TOOL_TEXT) for name in _TOOL_TEXTS}
        form = tool_arguments.form_members(tool)
        entries.append({**texts, **form, "id": tool["id"], "disabled": tool.get("disabled")})
        left -= _TOOL_BYTES + sum(template_filters.size(str(value)) for value in entries[-1].values())
        if left < 0:
            break
    is_truncated = any(len(str(tool.get(name) or "")) > _MAX_TOOL_TEXT for tool in tools for name in _TOOL_TEXTS)
    return {"tools": entries, "has_more_tools": len(entries) < len(tools), "tools_are_truncated": is_truncated}
