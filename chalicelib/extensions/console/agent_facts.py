"""The facts of each agent in the list of agents: its organisations, waiting conversations and last change."""

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

from chalicelib import ids, storage
from chalicelib.agents import store as agents
from chalicelib.extensions.console import calls, change_authors, inbox, trials
from chalicelib.extensions.console.sessions import Session
from chalicelib.storage import Document

_MAX_ORGANISATIONS = 100
_AUTHOR = ("kind", "id", "name")


class AgentFacts(NamedTuple):
    """The facts by agent id. A mapping is empty for people who may not know its facts.

    The counts of waiting conversations are texts, `total` of all agents. A change has the members `at`, in Unix
    seconds, and `by`, which is None if the author is unknown. An agent that is in no organisation has an empty list,
    and one whose organisations are unknown is missing. `has_bot` is None for people who cannot connect a bot.
    """

    total: str
    waiting: dict[str, str]
    changes: dict[str, Document]
    organisations: dict[str, list[Document]]
    has_bot: bool | None


def read(session: Session, agent_ids: Sequence[str]) -> AgentFacts:
    """Return the facts of these agents.

    This costs one request, one if an author used the console, those of the inbox, and two for operators.
    """
    total, waiting = _waiting(session, agent_ids) if "/convos" in session.pages else ("0", {})
    changes = _changes(session, agent_ids)
    if session.client_id is not None or not agent_ids:
        return AgentFacts(total, waiting, changes, {}, None)
    return AgentFacts(total, waiting, changes, organisations(agent_ids), trials.has_bot())


def _waiting(session: Session, agent_ids: Sequence[str]) -> tuple[str, dict[str, str]]:
    listed = inbox.read(session)
    numbers = Counter(record["agentId"] for record in listed.conversations["waiting"])
    return listed.counts["waiting"], {one: inbox.count_text(numbers[one], listed.has_more) for one in agent_ids}


def _changes(session: Session, agent_ids: Sequence[str]) -> dict[str, Document]:
    rows = storage.find_many([agents.key(session.workspace_id, one) for one in agent_ids])
    changes = [_change(row) for row in rows if agents.is_active(row)]
    return {one["agent_id"]: one for one in change_authors.with_names(session, changes)}


def _change(row: agents.AgentRow) -> Document:
    author = row.changed_by and dict(zip(_AUTHOR, storage.split_author(row.changed_by), strict=True))
    return {"agent_id": row.agent_id, "at": ids.timestamp_of(row.version_tag) // 1000, "by": author}


def organisations(agent_ids: Sequence[str]) -> dict[str, list[Document]]:
    """Return the organisations by agent. In a workspace with over 100 organisations, the others are unknown."""
    page = calls.get("/v3/orgs", {"pageSize": _MAX_ORGANISATIONS})
    of_agents: dict[str, list[Any]] = {one: [] for one in agent_ids}
    for organisation in page["data"]:
        for agent_id in {*(organisation.get("widgetIDs") or ())} & of_agents.keys():
            of_agents[agent_id].append(organisation)
    return {one: listed for one, listed in of_agents.items() if listed or not page.get("hasMore")}
