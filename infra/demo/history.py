"""Write planned visits and their counts into the stores, dated as planned.

The service counts each record at its write time, so requests made today cannot create 90 days of history. As in an
import, each record gets ids and version tags that match its planned time, and triggers no webhooks. The stream
functions' code counts each day. Rewriting the same plan changes nothing.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from chalicelib import clock, ids, storage
from chalicelib.agents import store as agents
from chalicelib.analytics import store as analytics
from chalicelib.conversations import counted_changes, models, page_position, state, tallies
from chalicelib.conversations import store as conversations
from chalicelib.conversations.counted_changes import CountedChange
from chalicelib.extensions.reports import counts, hours
from chalicelib.leads import store as lead_store
from chalicelib.storage import parent_scoped_ids
from infra.demo import texts
from infra.demo.plan import Talk, Visit


def write(workspace_id: str, moment: int, visits: Sequence[Visit]) -> None:
    """Write the records of all visits before `moment` (Unix seconds), and then their counts."""
    changes: list[CountedChange] = []
    loads, talks, leads = [], [], []
    created: dict[str, list[str]] = defaultdict(list)
    for visit in visits:
        loads.append(_analytics_row(workspace_id, visit))
        changes.extend(_loads(workspace_id, visit))
        if talk := visit.talk:
            conversation = _conversation_row(workspace_id, visit, talk)
            created[conversation.agent].append(conversation.created)
            talks.append(conversation)
            changes.extend(_changes_of(conversation, visit, talk))
        if talk and talk.lead:
            lead = _lead_row(workspace_id, visit, talk)
            leads.append(lead)
            changes.append(
                CountedChange(_agent(workspace_id, visit), lead.version_tag, {"leads": 1}, {"origin": visit.origin})
            )
    storage.save_many(loads)
    storage.save_many(talks)
    storage.save_many(leads)
    storage.save_many([*_tally_rows(moment, created), *_day_rows(moment, changes), *_change_rows(moment, changes)])


def backdate(workspace_id: str, agent_id: str, second: int) -> None:
    """Set an agent's creation time (Unix seconds): counts omit changes from before the agent existed."""
    author = storage.author_of("operator", "", "infra.demo")  # in the history
    with storage.written_by(author), storage.unit_of_work():
        row = agents.read(workspace_id, agent_id)
        before = row.open()
        agents.save(row, before, {**before, "createdAtUNIX": second})


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
        seconds = [second for second, _ in visit.talk.lines[::2]]
        numbers = {"interactionsNum": len(seconds), "firstMessageTS": seconds[0], "lastMessageTS": seconds[-1]}
        row.convo = storage.seal(row, "convo", {**load, "record": "convo", **numbers})
    return row


def _conversation_row(workspace_id: str, visit: Visit, talk: Talk) -> conversations.ConversationRow:
    metadata = {
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
    metadata = {name: value for name, value in metadata.items() if value is not None}
    change = models.StateIn.model_validate({"turns": _turns(talk), "metadata": metadata})
    stored = state.apply_change(state.empty_state(visit.visitor), state.prepare_change(change, talk.end), talk.end)
    captured = {"country": visit.country, "page": f"https://harbour.example.com/{talk.tags[0]}"}
    stored = stored._replace(metadata={**stored.metadata, "capturedVariables": captured})
    row = conversations.ConversationRow(storage.join_key(workspace_id, visit.agent, visit.visitor))
    row.agent = _agent(workspace_id, visit)
    row.created, row.version_tag = ids.id_at(visit.at, visit.ident), ids.id_at(talk.end * 1_000, visit.ident)
    if talk.handoff_at and talk.writer:
        row.answered_after = (talk.lines[-1][0] - talk.handoff_at) * 1_000
    elif talk.handoff_at:
        row.requested_at = talk.handoff_at * 1_000
    row.ended_after = talk.end * 1_000 - visit.at if talk.state == "ended_chat" else None
    row.transfers = storage.seal(row, "transfers", {"transfers": [*_transfers(talk)]})
    return conversations.restore(row, stored)


def _transfers(talk: Talk) -> Iterator[list[Any]]:
    """Yield the request for a person, the takeover and the end, in the format of `conversations.read_transfers`."""
    steps: list[tuple[int, str, str | None]] = [(talk.handoff_at, "requested_chat", None)] if talk.handoff_at else []
    if talk.writer:
        steps.append((talk.lines[-1][0], "human-chatting", talk.assigned))
    if talk.state == "ended_chat":
        steps.append((talk.end, talk.state, talk.assigned))
    for second, reached, person in steps:
        yield [second * 1_000, reached, person, "", ""]


def _turns(talk: Talk) -> list[dict[str, Any]]:
    """Return a conversation's lines as alternating visitor and agent turns. A person may have written the last one."""
    turns = []
    for number, (second, line) in enumerate(talk.lines):
        sender = ("human", "bot")[number % 2]
        is_persons = talk.writer and number == len(talk.lines) - 1
        item = {"text": line, "sender": talk.writer} if is_persons else {"text": line}
        turns.append({"from": sender, "messages": [{"from": sender, "type": "text", "item": item, "ts": second}]})
    return turns


def _lead_row(workspace_id: str, visit: Visit, talk: Talk) -> lead_store.LeadRow:
    ulid = ids.id_at(talk.end * 1_000, visit.ident ^ 1)
    row = lead_store.new(workspace_id, parent_scoped_ids.id_at(visit.agent, ulid))
    row.version_tag = ulid
    row.seal(
        {
            "agentId": visit.agent,
            "agentName": texts.AGENTS[visit.agent]["title"],
            "name": talk.name,
            "email": talk.email,
            "channel": visit.origin,
            "convoId": visit.visitor,
            **({"phone": f"+31 20 555 {visit.ident % 10_000:04}"} if visit.ident % 3 == 0 else {}),
            "createdAt": talk.end * 1_000,
        }
    )
    return row


# ---- counts that the streams would have made ----------------------------------------------------------


def _agent(workspace_id: str, visit: Visit) -> str:
    return storage.join_key(workspace_id, visit.agent)


def _values(visit: Visit) -> dict[str, str]:
    return {
        "origin": visit.origin,
        "country": visit.country,
        "browser": visit.browser,
        "platform": visit.platform,
        "language": visit.language,
    }


def _loads(workspace_id: str, visit: Visit) -> Iterator[CountedChange]:
    agent, values = _agent(workspace_id, visit), _values(visit)
    yield CountedChange(agent, ids.id_at(visit.at, visit.ident), {"loads": 1, "newVisitors": 1}, values)
    yield from (CountedChange(agent, ids.id_at(at, visit.ident), {"loads": 1}, values) for at in visit.again)


def _changes_of(row: conversations.ConversationRow, visit: Visit, talk: Talk) -> Iterator[CountedChange]:
    image = {"Keys": {"item": {"S": row.item}}, "NewImage": row.serialize()}
    if (counted := counted_changes.from_record({"eventName": "INSERT", "dynamodb": image})) is None:
        return
    # One change adds the whole conversation. Its last message may be a person's first answer.
    work = {**counted.counts, "messages": 0, "interactions": 0, "conversations": 0, "handoffs": 0, "seconds": 0}
    yield counted._replace(values={**counted.values, **({hours.PERSON: {talk.assigned: work}} if talk.writer else {})})
    if talk.handoff_at and not counted.counts["handoffs"]:  # the state has changed since then
        tag = ids.id_at(talk.handoff_at * 1_000, visit.ident ^ 2)
        yield CountedChange(row.agent, tag, {"handoffs": 1}, counted.values)


def _change_rows(moment: int, changes: Iterable[CountedChange]) -> Iterator[counts.ChangeRow]:
    """Yield the rows of the last two hours' changes. Reports add them up, and the streams recount these hours."""
    recent = ids.id_at((moment - moment % hours.SECONDS - hours.SECONDS) * 1_000, 0)
    rows = (counts.change_row(change) for change in changes if change.version_tag >= recent)
    yield from filter(None, rows)


def _day_rows(moment: int, changes: Iterable[CountedChange]) -> Iterator[counts.DayRow]:
    """Yield the counts for all days."""
    days: dict[tuple[str, str], dict[str, list[CountedChange]]] = defaultdict(lambda: defaultdict(list))
    for change in changes:
        time = clock.iso(ids.timestamp_of(change.version_tag) // 1_000)
        days[change.agent, time[:10]][time[11:13]].append(change)
    for (agent, day), of_day in days.items():
        sums = {
            hour: hours.add_up((hours.numbers_of(one), hours.values_of(one), hours.work_of(one)) for one in of_hour)
            for hour, of_hour in sorted(of_day.items())
        }
        by_hour = {hour: sum_of_hour.counts for hour, sum_of_hour in sums.items()}
        groups, people = (
            {name: {hour: each.groups[name] for hour, each in sums.items()} for name in names}
            for names in (hours.DIMENSIONS, (hours.PERSON,))
        )
        for kind, document in (("counts", {"hours": by_hour, "counted": {}}), ("groups", groups), ("people", people)):
            row = counts.DayRow(agent, storage.join_key(kind, day))
            row.version_tag = ids.id_at(moment * 1_000, 0)
            row.seal(document)
            yield row


def _tally_rows(moment: int, created: dict[str, list[str]]) -> Iterator[tallies.TallyRow]:
    """Yield the monthly and daily tallies, from which lists compute where a `page` begins."""
    for agent, ulids in created.items():
        sums: dict[tuple[str, str], list[int]] = {}
        for quarter in map(page_position.quarter_of, ulids):
            sums.setdefault(("day", quarter.day), [0] * page_position.QUARTERS)[quarter.number] += 1
            sums.setdefault(("month", quarter.month), [0] * 31)[quarter.day_number] += 1
        for period, numbers in sums.items():
            row = tallies.TallyRow(agent, storage.join_key(*period), counts=json.dumps(numbers))
            row.version_tag = ids.id_at(moment * 1_000, 0)
            yield row
