"""Reads a workspace's organisations by name, and searches them."""

from collections import Counter
from collections.abc import Iterable
from heapq import nsmallest

from chalicelib.extensions.console.access import calls
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.presentation.template_filters import display_name
from chalicelib.ids import IDENTIFIER
from chalicelib.storage import Document

# The maximum number of pages, and of organisations per page.
_MAX_PAGES, _PAGE_SIZE = 10, 100
# The maximum number of organisations that follow an agent's title, and the key of these names in a session.
_MAX_NAMES, _NAMES = 2, "organisations by agent"
# The key of the names of organisations without agents in a session, and the maximum number of these names.
_IDLE = "number of organisations without agents"
# The maximum number of agents with such names, because sessions stay in memory. Pages list the first agents by id.
_MAX_NAMED = 5_000


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
    """Return the ids of an organisation's agents, each once. Invalid ids are omitted."""
    return [*dict.fromkeys(filter(IDENTIFIER.fullmatch, organisation.get("widgetIDs") or ()))]


def by_agent(organisations: Iterable[Document], listed: Iterable[str]) -> dict[str, list[Document]]:
    """Return the organisations of each listed agent. The list of an agent in no organisation is empty."""
    of_agents: dict[str, list[Document]] = {agent_id: [] for agent_id in listed}
    for organisation in organisations:
        for agent_id in {*agent_ids(organisation)} & of_agents.keys():
            of_agents[agent_id].append(organisation)
    return of_agents


def names_by_agent(session: Session) -> dict[str, str]:
    """Return the names of each agent's organisations for an operator who sees several organisations, or nothing.

    The id follows a name that several organisations have.

    This costs one request per 100 organisations, and nothing again while the session is cached. The names of the first
    5,000 agents by id are known.
    """
    if session.client_id is not None or session.selected or session.remembered is None:
        return {}
    if _NAMES not in session.remembered:
        organisations = read_all()[0]
        session.remembered[_NAMES] = _names_by_agent(organisations)
        session.remembered[_IDLE] = sum(not agent_ids(one) for one in organisations)
    names: dict[str, str] = session.remembered[_NAMES]
    return names


def count_idle(session: Session) -> int:
    """Return the number of organisations without agents, which is known after `names_by_agent`."""
    number: int = (session.remembered or {}).get(_IDLE, 0)
    return number


def with_organisations(session: Session, titles: dict[str, str]) -> dict[str, str]:
    """Return several agents' titles, followed by the names of their organisations if an operator sees several."""
    names = names_by_agent(session) if len(titles) > 1 else {}
    return {one: f"{title} · {names[one]}" if one in names else title for one, title in titles.items()}


def _names_by_agent(organisations: list[Document]) -> dict[str, str]:
    if len(organisations) < 2:
        return {}
    numbers = _numbers_of_names(organisations)
    first = nsmallest(_MAX_NAMED, {one for organisation in organisations for one in agent_ids(organisation)})
    return {one: _joined_names(listed, numbers) for one, listed in by_agent(organisations, first).items()}


def _numbers_of_names(organisations: list[Document]) -> Counter[str]:
    return Counter(display_name(organisation, "name", "ID") for organisation in organisations)


def _joined_names(organisations: list[Document], numbers: Counter[str]) -> str:
    """Return the first two names. The id follows a name that several organisations have."""
    names = [(display_name(one, "name", "ID"), one["ID"]) for one in organisations[:_MAX_NAMES]]
    labels = [name if numbers[name] == 1 else f"{name} ({org_id})" for name, org_id in names]
    return ", ".join([*labels, *(["…"] * (len(organisations) > _MAX_NAMES))])


def by_name(organisations: Iterable[Document]) -> list[Document]:
    """Return the organisations in the order of their names."""
    return sorted(organisations, key=lambda listed: display_name(listed, "name", "ID").casefold())
