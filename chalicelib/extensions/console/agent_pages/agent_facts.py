"""The facts in the list of agents and in an agent's head: its organisations, waiting conversations and bots."""

from collections.abc import Sequence
from typing import NamedTuple

from chalicelib.extensions.console.access import organisation_list
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.inbox_pages import inbox
from chalicelib.extensions.console.presentation import bots
from chalicelib.storage import Document


class AgentFacts(NamedTuple):
    """The facts by agent id. A mapping is empty for people who may not know its facts.

    The counts of waiting conversations are texts, `total` of all agents. An agent that is in no organisation has an
    empty list, and one whose organisations are unknown is missing. `has_bot` is None for people who cannot connect a
    bot. `failing_bot` is the id of a bot's webhook that fails, if one is known to.
    """

    total: str
    waiting: dict[str, str]
    organisations: dict[str, list[Document]]
    has_bot: bool | None
    failing_bot: str | None = None

    def waiting_first(self, agents: list[Document]) -> list[Document]:
        """Return these agents in the order of the number of their waiting conversations, highest first."""
        return sorted(agents, key=lambda agent: int(self.waiting.get(agent["ID"], "0").rstrip("+")), reverse=True)


def read(session: Session, agent_ids: Sequence[str], hooks: Sequence[Document] | None = None) -> AgentFacts:
    """Return the facts of these agents. `hooks` are the webhooks of bots, if the page has read them already.

    This costs the requests of the inbox and, for operators, one per 100 organisations and one for the webhooks.
    """
    total, waiting = _waiting(session, agent_ids) if "/convos" in session.pages else ("0", {})
    if session.client_id is not None or not agent_ids:
        return AgentFacts(total, waiting, {}, None)
    hooks = bots.webhooks() if hooks is None else hooks
    organisations, failing = _organisations(agent_ids), bots.find_failing(hooks, session.failing or ())
    return AgentFacts(total, waiting, organisations, bots.is_connected(hooks), failing)


def _waiting(session: Session, agent_ids: Sequence[str]) -> tuple[str, dict[str, str]]:
    waiting = inbox.waiting_by_agent(session)
    visible = waiting.by_agent if session.agent_ids is None else session.agent_ids
    return waiting.text(visible), {one: waiting.text([one]) for one in agent_ids}


def _organisations(agent_ids: Sequence[str]) -> dict[str, list[Document]]:
    """Return the organisations by agent. In a workspace with over 1,000 organisations, the others are unknown."""
    known, has_more = organisation_list.read_all()
    of_agents = organisation_list.by_agent(known, agent_ids)
    return {one: listed for one, listed in of_agents.items() if listed or not has_more}
