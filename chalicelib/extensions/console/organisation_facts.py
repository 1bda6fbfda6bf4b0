"""The facts of each organisation in the settings: the titles of its first agents, and its waiting conversations."""

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from chalicelib.extensions.console import inbox, overview
from chalicelib.extensions.console.sessions import Session
from chalicelib.storage import Document

_MAX_TITLES = 2


class OrganisationFacts(NamedTuple):
    """The number of an organisation's agents, the titles of the first two, and the number that waits, as a text."""

    agents: int
    titles: list[str]
    waiting: str


def read(session: Session, organisations: Sequence[Document]) -> dict[str, OrganisationFacts]:
    """Return the facts by organisation id.

    This costs one request per 100 titles, and those of the inbox: one per 100 entries.
    """
    agents = {one["ID"]: list(dict.fromkeys(one.get("widgetIDs") or ())) for one in organisations}
    titles = overview.titles_of(session.workspace_id, {one for ids in agents.values() for one in ids[:_MAX_TITLES]})
    listed = inbox.read(session._replace(selected=None))  # the list also shows organisations that are not selected
    numbers = Counter(record["agentId"] for record in listed.conversations["waiting"])
    facts = {}
    for org_id, ids in agents.items():
        shown = [titles[one] for one in ids[:_MAX_TITLES] if one in titles]
        waiting = inbox.count_text(sum(numbers[one] for one in ids), listed.has_more)
        facts[org_id] = OrganisationFacts(len(ids), shown, waiting)
    return facts
