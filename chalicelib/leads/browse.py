"""Lists of leads: of one agent, newest first, or of all agents, one agent after the other.

A position is a ULID and the id of an agent: the list continues with the agent's leads before the ULID.
"""

import re
from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple

from chalicelib import ids
from chalicelib.http import messages, pages, queries
from chalicelib.leads import store
from chalicelib.storage import Document, parent_scoped_ids

NAMES = ("agentId", "from", "to", "q")
_SEARCHED = ("name", "email", "phone", "agentName")
POSITION = re.compile(ids.ULID.pattern + ids.IDENTIFIER.pattern)
_ULID = 26
_END = "0" * _ULID  # before it, an agent has no lead


class Asked(NamedTuple):
    """The query of a list: filters, in Unix seconds and case-folded, and the agent and ULID where it continues."""

    agent_id: str | None
    since: int | None
    until: int | None
    text: str
    after: tuple[str, str] | None

    def lists(self, document: Document) -> bool:
        """Whether a lead of this agent and time is listed."""
        return queries.contains(document, _SEARCHED, self.text)


def requested() -> Asked:
    """The query of the request. Raises Invalid."""
    cursor, agent_id = messages.cursor(), queries.text("agentId")
    since, until, text = queries.seconds("from"), queries.seconds("to"), queries.folded("q")
    return Asked(agent_id, since, until, text, position_of(cursor) if cursor else None)


def position_of(cursor: str) -> tuple[str, str]:
    """The agent and the ULID of a cursor."""
    return cursor[_ULID:], cursor[:_ULID]


def of_agent(workspace_id: str, agent_id: str, asked: Asked, limit: int) -> pages.Found[store.LeadRow]:
    """The leads of an agent with their positions, newest first. One request for a page, then one per 100 leads."""
    before = None if asked.after is None else parent_scoped_ids.id_at(agent_id, asked.after[1])
    fetch = partial(store.list_between, workspace_id, agent_id, asked.since, asked.until)
    for position, row in pages.in_portions(fetch, before, limit):
        yield parent_scoped_ids.ulid_of(position) + agent_id, row


def of_agents(
    workspace_id: str, agent_ids: Iterable[str], asked: Asked, limit: int
) -> Iterator[tuple[str, store.LeadRow | None]]:
    """The leads of these agents, which follow that of the cursor, and each agent's end as a position without a row."""
    remaining = iter(agent_ids)
    if asked.after is None or asked.after[1] == _END:
        asked, agent_id = asked._replace(after=None), next(remaining, None)
    else:
        agent_id = asked.after[0]
    while agent_id is not None:
        yield from of_agent(workspace_id, agent_id, asked, limit)
        asked, ended, agent_id = asked._replace(after=None), agent_id, next(remaining, None)
        if agent_id is not None:
            yield _END + ended, None
