"""The search for pages and records by name, which leads to any place in the console."""

from collections import Counter
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import NamedTuple
from urllib.parse import quote

from chalice.app import Response

from chalicelib.extensions.console.access import calls, guard, visible_agents
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import ACCOUNT, Session
from chalicelib.extensions.console.access.visible_agents import VisibleAgents
from chalicelib.extensions.console.inbox_pages import inbox, previews
from chalicelib.extensions.console.presentation import pages
from chalicelib.extensions.console.presentation.template_filters import agent_title, display_name
from chalicelib.extensions.console.presentation.visitor_names import visitor_name
from chalicelib.extensions.console.routes import routes
from chalicelib.http import current_request
from chalicelib.storage import Document

MAX_TEXT = 100  # the maximum length of a search text, in characters
_MAX_RESULTS = 8  # the maximum number of results of a kind
_MAX_WAITING = 5
_PAGE_SIZE = 100
# The pages that only operators may open, with the key of each title and the icon.
_OPERATOR_PAGES = {
    "/new-agent": ("new_agent", "agents"),
    "/settings#organisations": ("organisations", "organisations"),
    "/settings/new-org": ("new_organisation", "organisations"),
    "/settings#webhooks": ("webhooks", "webhook"),
    "/settings/new-webhook": ("new_webhook", "webhook"),
    "/settings#tokens": ("tokens", "lock"),
    "/settings/workspace": ("workspace_settings", "settings"),
    "/settings/usage": ("usage", "analytics"),
    "/settings/audit": ("audit", "text"),
    "/settings/erasures": ("erasures", "trash"),
}


# The key of each kind's heading.
_HEADINGS = {
    "waiting": "waiting",
    "mine": "tab.mine",
    "agent": "page/agents",
    "person": "clients",
    "organisation": "organisations",
    "webhook": "webhooks",
    "page": "pages",
}


class Place(NamedTuple):
    """A search result: its name, its path in the workspace, its icon and its kind.

    A conversation has its newest message as `note`. `fact` is a text at the end of the row, before the time `since`.
    """

    name: str
    path: str
    icon: str
    kind: str
    note: str = ""
    fact: str = ""
    since: int | None = None


@signed_in("/jump")
def read_jump(session: Session) -> Response:
    """List the pages, visitors, agents, people, organisations and webhooks that match and that the person may see.

    The visitors are those who wait, and those of the person's own conversations. The best matches and their kinds come
    first. Links also search the conversations and leads. Without a search, list up to five conversations that wait for
    a person, the longest wait first, eight agents and organisations, and the pages. An empty search, and the Enter key
    in the dialog of the other pages, open the first result.
    """
    query = current_request.query_value("q")
    text = (query or "").strip()[:MAX_TEXT]
    waiting = [] if text else _waiting(session)
    places = _best([*_pages(session), *_records(session, text)], text) if text else [*_first_places(session, waiting)]
    if query is not None and (not text or current_request.query_value("first")):
        return pages.redirect(f"/{session.workspace_id}{_first_path(session, places, text)}")
    actions = [] if text else [*_actions(session, waiting)]
    values: Document = {"text": text, "groups": _by_kind(places), "headings": _HEADINGS}
    return guard.page(session, "jump.html", "/jump", actions=actions, **values)


def _first_path(session: Session, places: list[Place], text: str) -> str:
    """Return the path of the first result. Without a place, this is the first list that can be searched."""
    lists = (page for page in ("/convos?tab=all&q=", "/leads?q=") if page.partition("?")[0] in session.pages)
    return places[0].path if places else next(lists, "/jump?q=") + quote(text, safe="")


def _waiting(session: Session) -> list[Document]:
    """Return the conversations that wait for a person, the longest wait first. This costs as much as the inbox."""
    return inbox.read(session).conversations["waiting"] if "/convos" in session.pages else []


def _actions(session: Session, waiting: list[Document]) -> Iterator[Place]:
    """Yield what the person may do at once: answer who waits longest, create an agent, and invite a person.

    Colleagues' conversations are omitted. Operators can invite people if they have selected an organisation.
    """
    t, org_id = guard.texts(session), (session.selected or {}).get("ID") or session.client.get("orgId")
    if longest := inbox.next_waiting(session, waiting):
        yield _conversation(session, longest, {})._replace(name=t("answer_longest"))
    if session.client_id is None:
        yield Place(t("new_agent"), "/new-agent", "agents", "page")
    if org_id and session.is_admin and "/settings" in session.pages:
        yield Place(t("invite_person"), f"/settings/orgs/{org_id}/new-client", "leads", "page")


def _by_kind(places: list[Place]) -> list[tuple[str, list[Place]]]:
    """Return the places of each kind. The kind of the best match comes first."""
    order = [*dict.fromkeys(place.kind for place in places)]
    by_kind = sorted(places, key=lambda place: order.index(place.kind))
    return [(kind, [*group]) for kind, group in groupby(by_kind, lambda place: place.kind)]


def _best(places: list[Place], text: str) -> list[Place]:
    """Return the matching places. Names that begin with the text come first, then names with a word that does."""
    search = text.casefold()

    def rank(place: Place) -> int:
        name = place.name.casefold()
        return 0 if name.startswith(search) else 1 if f" {search}" in name else 2

    return sorted((place for place in places if search in place.name.casefold()), key=rank)


def _first_places(session: Session, waiting: list[Document]) -> Iterator[Place]:
    """Yield the conversations that wait the longest, the first agents and organisations, and the pages.

    This costs one request for the agents and, for operators, one for the organisations.
    """
    titles = visible_agents.read(session).titles
    yield from (_conversation(session, record, titles) for record in waiting[:_MAX_WAITING])
    if "/agents" in session.pages:
        t, counts = guard.texts(session), Counter(record["agentId"] for record in waiting)
        for agent_id, title in [*titles.items()][:_MAX_RESULTS]:
            number = t("number_waiting", number=counts[agent_id]) if counts[agent_id] else ""
            yield _agent(agent_id, title)._replace(fact=number)
    if session.client_id is None:
        organisations = calls.get("/v3/orgs", {"pageSize": _MAX_RESULTS})["data"]
        yield from (_organisation(session, record) for record in organisations)
    yield from _pages(session)


def _conversation(session: Session, record: Document, titles: dict[str, str], kind: str = "waiting") -> Place:
    """Return the place of a conversation in the inbox. Its agent is named if the person sees several."""
    agent_id = record["agentId"]
    return Place(
        visitor_name(record, guard.texts(session)),
        f"/convos/{quote(agent_id, safe='')}/{quote(record['ID'], safe='')}",
        "convos",
        kind,
        note=display_name(record, "lastMessage", "title"),
        fact=str(titles.get(agent_id, agent_id)) if len(titles) > 1 else "",
        since=previews.since(record),
    )


def _pages(session: Session) -> Iterator[Place]:
    t = guard.texts(session)
    for page in session.pages:
        yield Place(t(f"page{page}"), page, page[1:], "page")
    yield Place(t("account"), ACCOUNT, "account", "page")
    for path, (title, icon) in _OPERATOR_PAGES.items() if session.client_id is None else ():
        if f"/console/{{workspace}}{path.partition('#')[0]}" in routes.current_app.routes:
            yield Place(t(title), path, icon, "page")


def _records(session: Session, text: str) -> Iterator[Place]:
    """Yield at most eight places of each kind. At least these match: the API may also search other members."""
    if {"/convos", "/agents"} & {*session.pages}:
        yield from _of_agents(session, text)
    if "/settings" in session.pages:
        yield from _first(text, _people(session, text))
    if session.client_id is None:
        organisations = calls.get("/v3/orgs", {"pageSize": _PAGE_SIZE})["data"]
        yield from _first(text, (_organisation(session, record) for record in organisations))
        webhooks = calls.get("/v3/webhooks")["data"]
        yield from _first(text, (_webhook(record) for record in webhooks))


def _of_agents(session: Session, text: str) -> Iterator[Place]:
    """Yield the conversations of the inbox and the agents. This costs a request for each."""
    agents = visible_agents.read(session._replace(selected=None))
    if "/convos" in session.pages:
        tabs = inbox.read(session).conversations
        waiting = {(record["agentId"], record["ID"]) for record in tabs["waiting"]}
        others = [record for record in tabs["mine"] if (record["agentId"], record["ID"]) not in waiting]
        for kind, records in (("waiting", tabs["waiting"]), ("mine", others)):
            yield from _first(text, (_conversation(session, record, agents.titles, kind) for record in records))
    if "/agents" in session.pages:
        yield from _first(text, _agents(session, text, agents))


def _first(text: str, places: Iterable[Place]) -> list[Place]:
    return _best([*places], text)[:_MAX_RESULTS]


def _agents(session: Session, text: str, agents: VisibleAgents) -> Iterator[Place]:
    titles = agents.titles
    if agents.has_more and session.client_id is None:
        matching = calls.get("/v3/agents/search", {"search": text, "limit": _PAGE_SIZE})["agents"]
        titles = {agent["ID"]: agent_title(agent) for agent in matching}
    for agent_id, title in titles.items():
        yield _agent(agent_id, title)


def _agent(agent_id: str, title: str) -> Place:
    return Place(title, f"/agents/{agent_id}", "agents", "agent")


def _people(session: Session, text: str) -> Iterator[Place]:
    """Yield the people who match, in the organisation of an administrator, or in all organisations."""
    org_id = session.client.get("orgId")
    if session.client_id is not None and not org_id:
        return  # without an organisation, the operation would search all people
    for client in calls.get("/v3/clients", {"limit": _PAGE_SIZE, "orgId": org_id, "q": text})["data"]:
        if home := client.get("orgId"):
            name, email = display_name(client, "name"), display_name(client, "email")
            shown = f"{name} ({email})" if name and email else name or email or client["ID"]
            yield Place(shown, f"/settings/orgs/{home}/clients/{client['ID']}", "account", "person")


def _organisation(session: Session, record: Document) -> Place:
    t, number = guard.texts(session), len(record.get("widgetIDs") or ())
    agents = t("agents_one") if number == 1 else t("agents_number", number=number)
    name = display_name(record, "name", "ID")
    return Place(name, f"/settings/orgs/{record['ID']}", "organisations", "organisation", fact=agents)


def _webhook(record: Document) -> Place:
    name = display_name(record, "description", "url", "id")
    return Place(name, f"/settings/webhooks/{record['id']}", "webhook", "webhook")
