"""The records on the usage page: agents' counts in a period, of the workspace or of one organisation's agents."""

import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NamedTuple

from chalicelib import clock, errors
from chalicelib.extensions.console.access import calls, guard, visible_agents
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.presentation import periods
from chalicelib.extensions.console.settings_pages import record_names
from chalicelib.storage import Document

COUNTS = ("conversations", "messages", "interactions", "deliveries", "leads")
_WORKSPACE, _AGENT = "/v3/usage", "/v3/agents/{agent_id}/usage"
_PAGE_SIZE = 20
_DAY_SECONDS = 24 * 60 * 60
# The paths of an invalid period in the rules of both operations.
_PERIOD = ("from", "to", "range.from", "range.to")
_PLACE = re.compile("[0-9]{1,4}")  # a cursor in an organisation's list of agents


class Before(NamedTuple):
    """The same agents' records in the equally long period before, the number of its days, and its sums."""

    days: int
    records: list[Document]
    totals: Document


class Group(NamedTuple):
    """An organisation, or None for agents of no organisation, with its agents' records and their sums.

    The records with the most conversations are first. `before` contains the sums of the period before.
    """

    organisation: Document | None
    records: list[Document]
    totals: Document
    before: Document


def read(query: dict[str, str], agent_ids: Sequence[str] | None, cursor: str | None) -> Document:
    """Return up to 20 records, `{data, nextCursor?, countedUntil?}`, of these agents or else of all agents.

    This costs two requests per agent. Raise InvalidPeriod.
    """
    since, until = periods.bounds(query["from"], query["to"])
    return _explained(lambda: _read(since, until, agent_ids, cursor))


def read_before(
    query: dict[str, str], agent_ids: Sequence[str] | None, cursor: str | None, listed: Document
) -> Before | None:
    """Return the counts of the agents on the `listed` page in the equally long period before.

    Return None if the period or the one before is invalid or has no beginning, or if the period before also has deleted
    agents that the page cannot compare.
    """
    try:
        since, until = periods.bounds(query["from"], query["to"])
        if since is None or until is None:
            return None
        page = _explained(lambda: _read(2 * since - until, since, agent_ids, cursor))
    except periods.InvalidPeriod:
        return None
    if page.get("nextCursor") and not listed.get("nextCursor"):
        return None
    return Before((until - since) // _DAY_SECONDS, page["data"], totals(page["data"]))


def add_titles(session: Session, records: Iterable[Document]) -> None:
    """Add `title` to the records of agents, and `isReplaced` to those of deleted agents whose id is in use again.

    This costs one request per 20 agents and one per deleted agent.
    """
    of_agents, t = [one for one in records if "agentId" in one], guard.texts(session)
    titles = visible_agents.titles_of(session.workspace_id, {one["agentId"]: None for one in of_agents})
    deleted = record_names.read_deleted_agents(of_agents)
    for record in of_agents:
        agent_id = record["agentId"]
        if "deletedAt" in record:
            record["title"] = t("deleted_agent", title=deleted.get(agent_id, agent_id))
            record["isReplaced"] = agent_id in titles
        else:
            record["title"] = titles.get(agent_id, agent_id)


def by_organisation(
    records: Sequence[Document], organisations: Sequence[Document], before: Sequence[Document]
) -> list[Group]:
    """Return the records by organisation, with the most conversations first. The last group has no organisation.

    An agent of several organisations is in each of their groups. A deleted agent whose id is in use again is in none,
    because the organisation lists the new agent.
    """
    replaced = {one["agentId"] for one in records if one.get("isReplaced")}
    replaced |= {one["agentId"] for one in records if "agentId" in one and "deletedAt" not in one}
    groups, grouped = list[Group](), set[str]()
    for organisation in organisations:
        agent_ids = {*(organisation.get("widgetIDs") or ())}
        grouped |= agent_ids
        groups.append(_group(organisation, records, before, partial(_is_of, agent_ids, replaced)))
    rest = _group(None, records, before, lambda record: not _is_of(grouped, replaced, record))
    groups.sort(key=lambda group: -group.totals[COUNTS[0]])
    return [group for group in (*groups, rest) if group.records]


def totals(records: Iterable[Document]) -> Document:
    """Return the sums of the records' counts."""
    added = [record["totals"] for record in records]
    return {name: sum(one[name] for one in added) for name in COUNTS}


def by_day(records: Iterable[Document], query: dict[str, str]) -> list[Document]:
    """Return the sums of the records' counts on each UTC day that has ended, or none without a first day."""
    since, until = periods.bounds(query["from"], query["to"])
    until = min(until or clock.seconds(), clock.seconds())
    if since is None:
        return []
    starts = range(since, until - _DAY_SECONDS + 1, _DAY_SECONDS)
    sums: dict[int, Document] = {start: dict.fromkeys(COUNTS, 0) for start in starts}
    for day in (day for record in records for day in record["days"] if day.get("from") in sums):
        for name in COUNTS:
            sums[day["from"]][name] += day[name]
    return [*sums.values()]


def _is_of(agent_ids: set[str], replaced: set[str], record: Document) -> bool:
    """Return whether a record is of one of these agents, and not of a deleted agent whose id is in use again."""
    agent_id = record.get("agentId")
    return agent_id in agent_ids and not ("deletedAt" in record and agent_id in replaced)


def _group(
    organisation: Document | None,
    records: Sequence[Document],
    before: Sequence[Document],
    is_own: Callable[[Document], bool],
) -> Group:
    own = sorted(filter(is_own, records), key=lambda record: -record["totals"][COUNTS[0]])
    return Group(organisation, own, totals(own), totals(filter(is_own, before)))


def _read(since: int | None, until: int | None, agent_ids: Sequence[str] | None, cursor: str | None) -> Document:
    if agent_ids is None:
        page: Document = calls.get(_WORKSPACE, {"from": since, "to": until, "cursor": cursor})
        return page
    start = _place(cursor)
    bounds = {name: value for name, value in (("from", since), ("to", until)) if value is not None}
    records: list[Any] = []
    for agent_id in agent_ids[start : start + _PAGE_SIZE]:
        with suppress(errors.NotFound):  # an organisation may list an agent that has been deleted
            records.append(calls.send("POST", _AGENT, {"range": bounds}, agent_id=agent_id))
    following = {"nextCursor": str(start + _PAGE_SIZE)} if len(agent_ids) > start + _PAGE_SIZE else {}
    counted = {"countedUntil": records[-1]["countedUntil"]} if records else {}
    return {"data": [record["data"] for record in records], **following, **counted}


def _place(cursor: str | None) -> int:
    if cursor and not _PLACE.fullmatch(cursor):
        raise errors.Invalid.member("cursor", "must be the nextCursor of an earlier response")
    return int(cursor or 0)


def _explained(read_page: Callable[[], Document]) -> Document:
    """Return the page. Raise InvalidPeriod instead of an Invalid that is about the period."""
    try:
        return read_page()
    except errors.Invalid as error:
        if any(issue["path"] in _PERIOD for issue in error.issues):
            raise periods.InvalidPeriod("from") from error
        raise
