"""The list of organisations in the settings: its search, order and pages, and the facts of each organisation."""

from collections import Counter
from collections.abc import Callable, Sequence
from itertools import accumulate, chain
from typing import Any, NamedTuple

from chalicelib import storage
from chalicelib.clients.store import ClientRow
from chalicelib.conversations.tallies import TallyRow
from chalicelib.extensions.console.access import organisation_list, visible_agents
from chalicelib.extensions.console.access.calls import query_string
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.inbox_pages import inbox
from chalicelib.extensions.console.presentation import periods
from chalicelib.http import current_request
from chalicelib.storage import Document

DAYS = 7  # the number of UTC days whose new conversations are counted, including today
_PAGE_SIZE = 50
_MAX_TITLES = 2
# The maximum number of agents whose titles are known, of people who are counted, and of tallies that are read.
_MAX_AGENTS, _MAX_PEOPLE, _MAX_TALLIES = 500, 1_000, 400
_MAX_PEOPLE_BYTES = 2_000_000
SORTS = ("", "people", "waiting")
"""The orders of the list: by name, and by two numbers, the largest first."""


class OrganisationFacts(NamedTuple):
    """An organisation's number of agents, the titles of the first two, and its numbers of people and conversations.

    `people` and `waiting`, the number of waiting conversations, are texts. `conversations` is the number of
    conversations that began in the last seven days, or None if the agents on the page are too many to count.
    """

    agents: int
    titles: list[str]
    people: str
    waiting: str
    conversations: int | None


class Numbers(NamedTuple):
    """What is counted for all organisations of the workspace: people, and waiting conversations."""

    people: Counter[str]
    has_more_people: bool
    waiting: inbox.Waiting

    def order(self, sort: str) -> Callable[[Document], int]:
        """Return the key that sorts organisations by a number, the largest first."""
        if sort == "people":
            return lambda organisation: -self.people[organisation["ID"]]
        return lambda organisation: -self.waiting.number(organisation_list.agent_ids(organisation))


def read(session: Session) -> Document:
    """Return the template variables for the page of organisations that the request describes.

    This costs one request per 100 organisations and per 100 entries of the inbox, up to 1,000 each, one request per MB
    of the agents' index and of people, and one per 100 agents of the organisations on the page, at most four.
    """
    query = {name: (current_request.query_value(name) or "").strip() for name in ("q", "sort", "page")}
    organisations, has_more = organisation_list.read_all()
    numbers = Numbers(*_count_people(session.workspace_id), inbox.waiting_by_agent(session))
    matches = organisation_list.search(organisations, query["q"])
    if query["sort"] in SORTS[1:]:
        matches.sort(key=numbers.order(query["sort"]))
    start = _PAGE_SIZE * (int(query["page"]) - 1 if query["page"] in map(str, range(1, 21)) else 0)
    page, following = matches[start : start + _PAGE_SIZE], str(start // _PAGE_SIZE + 2)
    return {
        "organisations": page,
        "facts": _facts(session, page, numbers),
        "days": DAYS,
        "query": query,
        "orders": {sort: query_string({"q": query["q"], "sort": sort}) for sort in SORTS},
        "following": query_string({**query, "page": following}) if len(matches) > start + _PAGE_SIZE else None,
        "first_organisations": len(organisations) if has_more else None,
    }


def _facts(session: Session, page: Sequence[Document], numbers: Numbers) -> dict[str, OrganisationFacts]:
    """Return the facts by organisation id."""
    agents = {one["ID"]: organisation_list.agent_ids(one) for one in page}
    titles = visible_agents.first(session.workspace_id, _MAX_AGENTS).titles if any(agents.values()) else {}
    conversations = _recent_numbers(session.workspace_id, agents)
    return {
        org_id: OrganisationFacts(
            agents=len(agent_ids),
            titles=[titles[agent_id] for agent_id in agent_ids if agent_id in titles][:_MAX_TITLES],
            people=inbox.count_text(numbers.people[org_id], numbers.has_more_people),
            waiting=numbers.waiting.text(agent_ids),
            conversations=conversations.get(org_id),
        )
        for org_id, agent_ids in agents.items()
    }


def _count_people(workspace_id: str) -> tuple[Counter[str], bool]:
    """Return how many of the first people belong to each organisation, and whether there are more.

    This counts at most 1,000 people, and fewer if their records exceed 2 MB.
    """
    people: Counter[str] = Counter()
    left = _MAX_PEOPLE_BYTES
    for row in storage.iterate(ClientRow, workspace_id, limit=_MAX_PEOPLE + 1, consistent=False):
        left -= len(row.document)
        if people.total() == _MAX_PEOPLE or left < 0:
            return people, True
        people[str(row.open().get("orgId") or "")] += 1
    return people, False


def _recent_numbers(workspace_id: str, agents: dict[str, list[str]]) -> dict[str, int]:
    """Return the number of conversations that began in the last seven UTC days, by organisation id.

    `agents` contains the agents' ids by organisation id. Deleted conversations are not counted. The organisations after
    the first 400 tallies are missing.
    """
    days = periods.recent_days(DAYS)
    months = sorted({f"{day:%Y-%m}" for day in days})
    tallies = dict(zip(agents, accumulate(len(ids) * len(months) for ids in agents.values()), strict=True))
    counted = {org_id: ids for org_id, ids in agents.items() if not ids or tallies[org_id] <= _MAX_TALLIES}
    keys = {(one, month): _key(workspace_id, one, month) for one in chain(*counted.values()) for month in months}
    rows: dict[Any, TallyRow | None] = dict(zip(keys, storage.find_many([*keys.values()]), strict=True))
    return {
        org_id: sum(row.tallies()[day.day - 1] for one in ids for day in days if (row := rows[one, f"{day:%Y-%m}"]))
        for org_id, ids in counted.items()
    }


def _key(workspace_id: str, agent_id: str, month: str) -> storage.Key:
    partition, period = storage.join_key(workspace_id, agent_id), storage.join_key("month", month)
    return storage.Key(TallyRow, partition, period, consistent=False)
