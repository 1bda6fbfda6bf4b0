"""Writes planned visits into the stores, with the times at which they happened, and counts them.

A service counts at the time of a write, so the history of 90 days cannot come from requests of today. As in an import,
each record is an absolute write with ids and version tags of its own time, and no webhook follows from it. What the
streams would have counted is added up by the same functions, hour by hour. The hour of the demonstration is counted
again with what happens in it, and `tallies recount` counts the last days, so their changes are stored, too: both sums
are the same. Writing a plan again changes nothing.
"""

import json
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from chalicelib import clock, ids, storage
from chalicelib.agents import store as agents
from chalicelib.analytics import counts, hours
from chalicelib.analytics import store as analytics
from chalicelib.analytics.hours import Happened
from chalicelib.conversations import counted_changes, models, page_position, state, tallies
from chalicelib.conversations import store as conversations
from chalicelib.leads import store as lead_store
from chalicelib.storage import parent_scoped_ids
from infra.demo import texts
from infra.demo.plan import Talk, Visit

_DAY = 24 * 60 * 60
# Rows between two steps of the progress bar.
_PORTION = 100
# The changes that can be counted again: those of the two days in which a change is stored, and one to spare.
_RECENT = 3 * _DAY


def count_rows(visits: Sequence[Visit]) -> int:
    """How many records `write` writes."""
    talks = [visit.talk for visit in visits if visit.talk]
    return len(visits) + len(talks) + sum(talk.lead for talk in talks)


def write(workspace_id: str, moment: int, visits: Sequence[Visit], report: Callable[[int], object]) -> None:
    """Write the records of visits before `moment` (Unix seconds), and then what they count.

    `report` gets the number of records of each portion. About one request per 25 records.
    """
    talking = [visit for visit in visits if visit.talk]
    changes = [one for visit in visits for one in _loads(workspace_id, visit)]
    _save((_analytics_row(workspace_id, visit) for visit in visits), report)
    leads = [_lead_row(workspace_id, visit) for visit in talking if visit.talk and visit.talk.lead]
    changes += [_lead(workspace_id, visit) for visit in talking if visit.talk and visit.talk.lead]
    _save(leads, report)
    created: dict[str, list[str]] = defaultdict(list)

    def rows() -> Iterator[conversations.ConversationRow]:
        for visit in talking:
            row = _conversation_row(workspace_id, visit)
            changes.extend(_of_conversation(row, visit))
            created[row.agent].append(row.created)
            yield row

    _save(rows(), report)
    _count_conversations(moment, created)
    _count_changes(moment, changes)


@storage.in_unit_of_work
def backdate(workspace_id: str, agent_id: str, second: int) -> None:
    """Save an agent as created at a Unix second: counts omit the changes before the creation of their agent."""
    row = agents.read(workspace_id, agent_id)
    before = row.open()
    agents.save(row, before, {**before, "createdAtUNIX": second})


def _save(rows: Iterable[storage.Row], report: Callable[[int], object]) -> None:
    portion: list[storage.Row] = []
    for row in rows:
        portion.append(row)
        if len(portion) == _PORTION:
            storage.save_many(portion)
            report(len(portion))
            portion = []
    storage.save_many(portion)
    report(len(portion))


# ---- records --------------------------------------------------------------------------------------


def _analytics_row(workspace_id: str, visit: Visit) -> analytics.AnalyticsRow:
    row = analytics.new(workspace_id, visit.agent, visit.visitor)
    row.version_tag = ids.id_at(visit.at, visit.ident)
    load = {
        "record": "load",
        "userID": visit.visitor,
        "countryCode": visit.country,
        "langCode": visit.language,
        "browser": visit.browser,
        "platform": visit.platform,
        "origin": visit.origin,
        "ts": visit.at // 1_000,
    }
    row.load = storage.seal(row, "load", load)
    if visit.talk:
        said = [second for second, _ in visit.talk.lines[::2]]
        numbers = {"interactionsNum": len(said), "firstMessageTS": said[0], "lastMessageTS": said[-1]}
        row.convo = storage.seal(row, "convo", {**load, "record": "convo", **numbers})
    return row


def _conversation_row(workspace_id: str, visit: Visit) -> conversations.ConversationRow:
    talk = _talk(visit)
    asked = models.StateIn.model_validate({"turns": turns(talk), "metadata": _metadata(visit, talk)})
    stored = state.apply(state.empty(visit.visitor), state.prepare(asked, talk.end), talk.end)
    row = conversations.ConversationRow(storage.key(workspace_id, visit.agent, visit.visitor))
    row.agent = storage.key(workspace_id, visit.agent)
    row.created, row.version_tag = ids.id_at(visit.at, visit.ident), ids.id_at(talk.end * 1_000, visit.ident)
    return conversations.restore(row, stored)


def turns(talk: Talk) -> list[dict[str, Any]]:
    """The turns of a state that has the lines of a talk, the visitor first and the agent in turn."""
    senders = [("human", "bot")[number % 2] for number in range(len(talk.lines))]
    return [
        {"from": sender, "messages": [{"from": sender, "type": "text", "item": {"text": line}, "ts": second}]}
        for sender, (second, line) in zip(senders, talk.lines, strict=True)
    ]


def _metadata(visit: Visit, talk: Talk) -> dict[str, Any]:
    found = {
        "userID": visit.visitor,
        "userName": talk.name,
        "userEmail": talk.email if talk.lead else None,
        "userBrowser": visit.browser,
        "userPlatform": visit.platform,
        "origin": visit.origin,
        "tags": talk.tags,
        "state": talk.state,
        "chatAssignedTo": talk.assigned,
        "ts": visit.at // 1_000,
    }
    return {name: value for name, value in found.items() if value is not None}


def _lead_row(workspace_id: str, visit: Visit) -> lead_store.LeadRow:
    talk = _talk(visit)
    ulid = ids.id_at(talk.end * 1_000, visit.ident ^ 1)
    row = lead_store.new(workspace_id, parent_scoped_ids.id_at(visit.agent, ulid))
    row.version_tag = ulid
    lead = {
        "agentId": visit.agent,
        "agentName": texts.AGENTS[visit.agent]["title"],
        "name": talk.name,
        "email": talk.email,
        "channel": visit.origin,
        "createdAt": talk.end * 1_000,
    }
    row.seal(lead)
    return row


def _talk(visit: Visit) -> Talk:
    if visit.talk is None:
        raise ValueError("a visit without a talk")
    return visit.talk


# ---- what the streams would have counted ----------------------------------------------------------


def _loads(workspace_id: str, visit: Visit) -> Iterator[Happened]:
    values = {
        "origin": visit.origin,
        "country": visit.country,
        "browser": visit.browser,
        "platform": visit.platform,
        "language": visit.language,
    }
    agent = storage.key(workspace_id, visit.agent)
    yield Happened(agent, ids.id_at(visit.at, visit.ident), {"loads": 1, "newVisitors": 1}, values)
    yield from (Happened(agent, ids.id_at(at, visit.ident), {"loads": 1}, values) for at in visit.again)


def _lead(workspace_id: str, visit: Visit) -> Happened:
    tag = ids.id_at(_talk(visit).end * 1_000, visit.ident ^ 1)
    return Happened(storage.key(workspace_id, visit.agent), tag, {"leads": 1}, {"origin": visit.origin})


def _of_conversation(row: conversations.ConversationRow, visit: Visit) -> Iterator[Happened]:
    keys = {"item": {"S": row.item}}
    change = {"eventName": "INSERT", "dynamodb": {"Keys": keys, "NewImage": row.serialize()}}
    if (counted := counted_changes.in_record(change)) is None:
        return
    yield counted
    asked = _talk(visit).asked
    if asked and not counted.counts["handoffs"]:  # the state has changed since
        tag = ids.id_at(asked * 1_000, visit.ident ^ 2)
        yield Happened(row.agent, tag, {"handoffs": 1}, counted.values)


def _count_changes(moment: int, changes: list[Happened]) -> None:
    """Store the counts of all days, and the changes of the last ones, whose hours are counted again."""
    days: dict[tuple[str, str], dict[str, list[Happened]]] = defaultdict(lambda: defaultdict(list))
    for one in changes:
        time = clock.iso(_second(one))
        days[one.agent, time[:10]][time[11:13]].append(one)
    storage.save_many([row for key, found in days.items() for row in _day_rows(moment, *key, found)])
    # From a whole hour on, because an hour is counted again by what is stored of it.
    first = -(-(moment - _RECENT) // hours.SECONDS) * hours.SECONDS
    with clock_at(moment - _DAY):
        counts.record(one for one in changes if _second(one) >= first)


def _day_rows(moment: int, agent: str, day: str, found: dict[str, list[Happened]]) -> Iterator[counts.DayRow]:
    sums = {
        hour: hours.add_up((one.numbers(), one.places()) for one in changes) for hour, changes in sorted(found.items())
    }
    by_hour = {hour: one.counts for hour, one in sums.items()}
    groups = {name: {hour: one.groups[name] for hour, one in sums.items()} for name in hours.DIMENSIONS}
    for kind, document in (("counts", {"hours": by_hour, "counted": {}}), ("groups", groups)):
        row = counts.DayRow(agent, storage.key(kind, day))
        row.version_tag = ids.id_at(moment * 1_000, 0)
        row.seal(document)
        yield row


def _count_conversations(moment: int, created: dict[str, list[str]]) -> None:
    """Store the tallies of months and days, by which `page` of a list finds its place."""
    for agent, ulids in created.items():
        sums: dict[tuple[str, str], list[int]] = {}
        for quarter in map(page_position.quarter_of, ulids):
            sums.setdefault(("day", quarter.day), [0] * page_position.QUARTERS)[quarter.number] += 1
            sums.setdefault(("month", quarter.month), [0] * 31)[quarter.day_number] += 1
        rows = [tallies.TallyRow(agent, storage.key(*period), counts=json.dumps(one)) for period, one in sums.items()]
        for row in rows:
            row.version_tag = ids.id_at(moment * 1_000, 0)
        storage.save_many(rows)


def _second(change: Happened) -> int:
    return ids.timestamp_of(change.version_tag) // 1_000


@contextmanager
def clock_at(second: int) -> Iterator[None]:
    """Stop the clock of this process at a Unix second, inside the block."""
    before, clock.milliseconds = clock.milliseconds, lambda: second * 1_000
    try:
        yield
    finally:
        clock.milliseconds = before
