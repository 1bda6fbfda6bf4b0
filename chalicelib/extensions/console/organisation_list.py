"""Reads a workspace's organisations by name, and searches them."""

from collections import Counter
from collections.abc import Iterable

from chalicelib.extensions.console import calls
from chalicelib.extensions.console.sessions import Session
from chalicelib.extensions.console.template_filters import display_name
from chalicelib.storage import Document

# The maximum number of pages, and of organisations per page.
_MAX_PAGES, _PAGE_SIZE = 10, 100
# The maximum number of organisations that follow an agent's title, and the key of these names in a session.
_MAX_NAMES, _NAMES = 2, "organisations by agent"


def read_all() -> tuple[list[Document], bool]:
    """Return up to 1,000 organisations by name, and whether there are more. This costs one request per 100."""
    organisations: list[Document] = []
    query = {"pageSize": _PAGE_SIZE, "cursor": None}
    for _ in range(_MAX_PAGES):
        page = calls.get("/v3/orgs", query)
        organisations += page["data"]
        query["cursor"] = page.get("nextCursor")
        if query["cursor"] is None:
            break
    return by_name(organisations), query["cursor"] is not None


def search(organisations: Iterable[Document], text: str) -> list[Document]:
    """Return the organisations whose name or id contains a text."""
    part = text.strip().casefold()
    return [
        one
        for one in organisations
        if any(part in name.casefold() for name in (display_name(one, "name", "ID"), one["ID"]))
    ]


def agent_ids(organisation: Document) -> list[str]:
    """Return the ids of an organisation's agents, each once."""
    return [*dict.fromkeys(organisation.get("widgetIDs") or ())]


def by_agent(organisations: Iterable[Document], agent_ids: Iterable[str]) -> dict[str, list[Document]]:
    """Return the organisations of each agent. The list of an agent in no organisation is empty."""
    of_agents: dict[str, list[Document]] = {agent_id: [] for agent_id in agent_ids}
    for organisation in organisations:
        for agent_id in {*(organisation.get("widgetIDs") or ())} & of_agents.keys():
            of_agents[agent_id].append(organisation)
    return of_agents


def names_by_agent(session: Session) -> dict[str, str]:
    """Return the names of each agent's organisations for an operator who sees several organisations, or nothing.

    The id follows a name that several organisations have.

    This costs one request per 100 organisations, and nothing again while the session is cached.
    """
    if session.client_id is not None or session.selected or session.remembered is None:
        return {}
    if _NAMES not in session.remembered:
        session.remembered[_NAMES] = _names_by_agent(read_all()[0])
    names: dict[str, str] = session.remembered[_NAMES]
    return names


def with_organisations(session: Session, titles: dict[str, str]) -> dict[str, str]:
    """Return several agents' titles, followed by the names of their organisations if an operator sees several."""
    names = names_by_agent(session) if len(titles) > 1 else {}
    return {one: f"{title} · {names[one]}" if one in names else title for one, title in titles.items()}


def _names_by_agent(organisations: list[Document]) -> dict[str, str]:
    names: dict[str, list[str]] = {}
    numbers = Counter(display_name(organisation, "name", "ID") for organisation in organisations)
    for organisation in organisations if len(organisations) > 1 else ():
        name = display_name(organisation, "name", "ID")
        for agent_id in agent_ids(organisation):
            names.setdefault(agent_id, []).append(name if numbers[name] == 1 else f"{name} ({organisation['ID']})")
    return {
        one: ", ".join([*listed[:_MAX_NAMES], *(["…"] * (len(listed) > _MAX_NAMES))]) for one, listed in names.items()
    }


def by_name(organisations: Iterable[Document]) -> list[Document]:
    """Return the organisations in the order of their names."""
    return sorted(organisations, key=lambda listed: display_name(listed, "name", "ID").casefold())
