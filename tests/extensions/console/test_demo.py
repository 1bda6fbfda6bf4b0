"""`make demo`: its plan, the data that it writes, and the counts and lists that the API then returns."""

from collections import Counter
from datetime import datetime, timezone
from typing import Any

import click
import pytest
from click.testing import CliRunner

from chalicelib import clock, storage
from chalicelib.agents import store as agents
from chalicelib.workspaces.store import NewWorkspace
from infra.operator.commands import cams
from tests import extensions
from tests.api import Api
from tests.conftest import PassTime

extensions.require("reports")

from infra.demo import fill, history, plan, texts
from infra.demo.plan import Talk, Visit
from tests.extensions.console.browser import Browser
from tests.extensions.reports.test_reports import Pipeline

HOUR, DAY = 3_600, 86_400
MOMENT = 1_795_400_000
TABLES = ("cams-conversations", "cams-analytics", "cams-leads", "cams-tallies")


# ---- the plan -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def visits() -> list[Visit]:
    return plan.draw(MOMENT, 2_000)


def talks(visits: list[Visit]) -> list[Talk]:
    return [visit.talk for visit in visits if visit.talk]


def test_the_same_seed_and_moment_make_the_same_plan(visits: list[Visit]) -> None:
    assert visits == plan.draw(MOMENT, 2_000)
    assert visits != plan.draw(MOMENT, 2_000, seed=8)


def test_everything_happened_in_the_ninety_days_before(visits: list[Visit]) -> None:
    times = [second for talk in talks(visits) for second, _ in talk.lines]
    times += [at // 1_000 for visit in visits for at in (visit.at, *visit.again)]
    assert min(times) >= MOMENT - 90 * DAY and max(times) < MOMENT
    assert min(times) < MOMENT - 89 * DAY and max(times) > MOMENT - DAY
    assert len(talks(visits)) == 2_000
    assert len({visit.visitor for visit in visits}) == len(visits)


def test_days_are_busy_and_nights_and_weekends_are_quiet(visits: list[Visit]) -> None:
    times = [datetime.fromtimestamp(visit.at / 1_000, timezone.utc) for visit in visits]
    by_hour, by_weekday = (Counter(one) for one in ([time.hour for time in times], [time.weekday() for time in times]))
    assert sum(by_hour[hour] for hour in range(9, 17)) > 10 * sum(by_hour[hour] for hour in range(5))
    assert max(by_weekday[5], by_weekday[6]) < min(by_weekday[day] for day in range(5))


def test_there_is_something_of_everything(visits: list[Visit]) -> None:
    states = Counter(talk.state for talk in talks(visits))
    assert (states["requested_chat"], states["human-chatting"]) == (8, 6)
    assert {talk.assigned for talk in talks(visits) if talk.state == "human-chatting"} == {*texts.CLIENTS}
    for weights, of_visits in (
        (texts.LANGUAGES, Counter(visit.language for visit in visits)),
        (texts.ORIGINS, Counter(visit.origin for visit in visits)),
        (texts.BROWSERS, Counter(visit.browser for visit in visits)),
        (texts.PLATFORMS, Counter(visit.platform for visit in visits)),
    ):
        assert of_visits.keys() == weights.keys()
    assert {visit.agent for visit in visits} == {*texts.AGENTS}
    assert 100 < sum(talk.lead for talk in talks(visits)) < 400


def test_the_newest_visitors_wait_for_minutes_with_questions_of_their_own(visits: list[Visit]) -> None:
    waiting = [talk for talk in talks(visits) if talk.state == "requested_chat"]
    waits = [(MOMENT - (talk.handoff_at or 0)) / 60 for talk in waiting]
    assert waits == sorted(waits, reverse=True) and waits[-1] < 10 and waits[-4] < 240 and waits[0] > 2 * 24 * 60
    questions = [talk.lines[-1][1] for talk in waiting]
    assert len({*questions}) == len({talk.name for talk in waiting}) == 8
    assert all(
        len(talk.lines) % 2 and question.endswith("?") for talk, question in zip(waiting, questions, strict=True)
    )
    assert {talk.assigned for talk in waiting} == {None, *texts.CLIENTS}


def test_a_person_has_written_the_last_line_of_an_answered_request(visits: list[Visit]) -> None:
    answered = [talk for talk in talks(visits) if talk.handoff_at and talk.state != "requested_chat"]
    names = {client_id: client["name"] for client_id, client in texts.CLIENTS.items()}
    assert len(answered) > 100
    assert all(talk.assigned and names[talk.assigned] == talk.writer for talk in answered)
    assert all(not len(talk.lines) % 2 and (talk.handoff_at or 0) < talk.lines[-1][0] for talk in answered)
    assert not any(talk.writer for talk in talks(visits) if not talk.handoff_at)


# ---- the data -------------------------------------------------------------------------------------


class InProcess:
    """Sends the demonstration's requests without a server."""

    def __init__(self, workspace: NewWorkspace) -> None:
        self.workspace_id, self._api = workspace.workspace_id, Api(workspace.workspace_key)

    def call(self, method: str, path: str, body: Any = None) -> Any:
        answer = self._api.call(method, path, body)
        return None if answer.status == 404 else answer.json.get("data") if answer.json["success"] else answer.data


def planned_totals(visits: list[Visit]) -> dict[str, int]:
    """Return the totals for some visits, calculated from the plan alone."""
    talking = talks(visits)
    return {
        "loads": sum(1 + len(visit.again) for visit in visits),
        "newVisitors": len(visits),
        "conversations": len(talking),
        "messages": sum(len(talk.lines) for talk in talking),
        "interactions": sum(len(talk.lines[::2]) for talk in talking),
        "handoffs": sum(talk.handoff_at is not None for talk in talking),
        "leads": sum(talk.lead for talk in talking),
    }


def report(api: Api, agent: str, **query: str) -> Any:
    now = clock.seconds()
    asked = {"from": f"{now - 92 * DAY}", "to": f"{now}", **query}
    return api.get(f"/v3/agents/{agent}/analytics?{'&'.join(map('='.join, asked.items()))}").data


def reports(api: Api) -> Any:
    return [report(api, agent, by=by) for agent in texts.AGENTS for by in ("origin", "country", "browser", "language")]


def stored_items() -> dict[str, Any]:
    """Return the tables' content without encrypted attributes, which differ on every write."""
    database, items = storage.sdk_client("dynamodb"), {}
    for table in TABLES:
        pages = database.get_paginator("scan").paginate(TableName=table)
        rows = [
            {name: value for name, value in one.items() if "B" not in value} for page in pages for one in page["Items"]
        ]
        items[table] = sorted(rows, key=repr)
    return items


def compare(api: Api, visits: list[Visit]) -> None:
    """Compare the API's totals, series, groups and lists with the plan."""
    for agent in texts.AGENTS:
        of_agent = [visit for visit in visits if visit.agent == agent]
        answered = report(api, agent, by="country")
        totals = {name: answered["totals"][name] for name in planned_totals(of_agent)}
        assert totals == planned_totals(of_agent)
        by_day = Counter(at // 1_000 // DAY * DAY for visit in of_agent for at in (visit.at, *visit.again))
        assert {one["from"]: one["loads"] for one in answered["series"][1:] if one["loads"]} == by_day
        assert {
            one["value"]: one["totals"]["newVisitors"] for one in answered["groups"] if one["value"] != "unknown"
        } == (Counter(visit.country for visit in of_agent))
        by_origin = {one["value"]: one["totals"] for one in report(api, agent, by="origin")["groups"]}
        assert by_origin.keys() == {visit.origin for visit in of_agent}
        talking = [visit.visitor for visit in of_agent if visit.talk][::-1]
        page = -(-len(talking) // 20)
        listed = api.get(f"/v2/agents/{agent}/convos?page={page}").data
        assert [one["userID"] for one in listed] == talking[(page - 1) * 20 :]
    inbox = api.get("/v3/convos?inbox=true&limit=100").data
    waiting = {visit.visitor: visit.talk for visit in visits if visit.talk and visit.talk.state in WAITING}
    assert {one["userID"]: one.get("chatAssignedTo") for one in inbox} == {
        visitor: talk.assigned for visitor, talk in waiting.items()
    }


WAITING = ("requested_chat", "human-chatting")


@pytest.fixture
def pipeline(workspace: NewWorkspace, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    """Return the pipeline; the clock is stopped, so that no hour ends during a test."""
    return Pipeline(monkeypatch)


def test_the_api_counts_what_was_planned(workspace: NewWorkspace, pipeline: Pipeline) -> None:
    service, api = InProcess(workspace), Api(workspace.workspace_key)
    assert not fill.is_filled(service)
    visits = fill.fill(service, 40)
    assert fill.is_filled(service)
    (webhook,) = api.get("/v3/webhooks").data
    assert len(api.get(f"/v3/webhooks/{webhook['id']}/deliveries").data) == 1
    compare(api, visits)
    assert max(talk.handoff_at or 0 for talk in talks(visits)) > clock.seconds() - HOUR  # not yet counted
    once, answered = stored_items(), reports(api)
    pipeline.run()  # these are the hours that the streams recount
    assert reports(api) == answered
    assert CliRunner().invoke(cams, ["tallies", "recount"]).exit_code == 0
    assert reports(api) == answered
    fill.fill(service, 40)
    assert len(api.get("/v3/webhooks").data) == 1
    assert stored_items()["cams-conversations"] == once["cams-conversations"]
    assert {table: len(rows) for table, rows in stored_items().items()} == {
        table: len(rows) for table, rows in once.items()
    }
    compare(api, visits)


def test_records_read_as_if_they_had_been_written_then(workspace: NewWorkspace, pipeline: Pipeline) -> None:
    service, api = InProcess(workspace), Api(workspace.workspace_key)
    visits = fill.fill(service, 10)
    visit, talk = next((visit, visit.talk) for visit in visits if visit.talk)
    convo = api.get(f"/v3/agents/{visit.agent}/convos/{visit.visitor}").data
    assert (convo["userName"], convo["tags"], convo["origin"]) == (talk.name, talk.tags, visit.origin)
    assert (convo["ts"], convo["lastModified"]) == (visit.at // 1_000, talk.end)
    said = api.get(f"/v3/agents/{visit.agent}/convos/{visit.visitor}").data["messages"][::-1]
    assert [(one["ts"], one["item"]["text"]) for one in said] == talk.lines
    load = api.get(f"/v2/agents/{visit.agent}/analytics/{visit.visitor}").data
    assert (load["countryCode"], load["interactionsNum"]) == (visit.country, len(talk.lines[::2]))
    agent = api.get(f"/v3/agents/{visit.agent}").data
    assert [tool["name"] for tool in agent["tools"]] == [tool["name"] for tool in texts.TOOLS[visit.agent]]


def test_the_history_names_the_author_of_a_backdated_agent(workspace: NewWorkspace, workspace_api: Api) -> None:
    history.backdate(workspace.workspace_id, "support", MOMENT - DAY)
    row = agents.read(workspace.workspace_id, "support")
    assert (row.open()["createdAtUNIX"], row.changed_by) == (MOMENT - DAY, "operator##infra.demo")


def test_a_client_of_the_demonstration_signs_in_as_an_administrator(
    workspace: NewWorkspace, pipeline: Pipeline
) -> None:
    service, browser = InProcess(workspace), Browser(workspace.workspace_id)
    fill.fill(service, 1)
    client = fill.let_sign_in(service)
    page = browser.sign_in(client["email"], client["password"])
    assert (page.status, "Harbour Group" in page.text, "/settings" in page.text) == (200, True, True)
    assert fill.let_sign_in(service)["password"] != client["password"]


def test_a_demonstration_whose_agent_was_deleted_says_so(workspace: NewWorkspace, pipeline: Pipeline) -> None:
    service, api = InProcess(workspace), Api(workspace.workspace_key)
    fill.fill(service, 1)
    assert api.delete(f"/v3/agents/{texts.SHOP}").status == 200
    with pytest.raises(click.ClickException, match="The agent demo-bikes has been deleted"):
        fill.is_filled(service)
