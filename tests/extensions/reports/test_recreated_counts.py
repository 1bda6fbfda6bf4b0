"""The counts for an agent that reuses a deleted agent's id. Changes that are older than the agent are not counted."""

from typing import Any

import pytest
from click.testing import CliRunner

from chalicelib import clock, ids, storage
from chalicelib.agents import store as agents
from chalicelib.conversations.counted_changes import CountedChange
from chalicelib.conversations.tallies import TallyRow
from chalicelib.extensions.reports import counts, hours
from chalicelib.extensions.reports.counts import DayRow
from chalicelib.extensions.reports.hours import SECONDS
from chalicelib.webhooks import ledger
from chalicelib.workspaces.store import NewWorkspace
from infra.operator.commands import cams
from tests.api import Api
from tests.conftest import PassTime
from tests.deletion.cascades import second_run
from tests.direct_writes import put_now
from tests.extensions.reports.test_reports import REPORT, STATE, Pipeline, counts_with, message, without_from
from tests.followers import follow

NEW = counts_with(conversations=1, messages=2, interactions=1, leads=1, loads=1, newVisitors=1, averageSeconds=0)
# How many seconds the id stays unused: it is reused in the hour of the deletion, or later.
FREE = [0, 2 * SECONDS]


@pytest.fixture
def pipeline(agent_id: str, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    return Pipeline(monkeypatch)


def use(api: Api, visitor: str) -> None:
    """Make one change of each counted kind."""
    assert api.post(STATE.format(visitor), {"turns": [message(1_000), message(1_000, "bot")]}).status == 200
    assert api.post(f"/v2/agents/support/analytics/{visitor}", {"record": "load"}).status == 200
    assert api.post("/v3/leads", {"lead": {"agentId": "support", "name": visitor}}).status == 200


def recreate(api: Api, pass_time: PassTime, free: int = 0) -> None:
    """Delete the agent, complete the cascading delete, and create an agent with the same id."""
    assert api.delete("/v3/agents/support").status == 200
    second_run(pass_time)
    pass_time(free)
    assert api.post("/v2/agents/support", {}).status == 200


def totals(api: Api) -> dict[str, Any]:
    return without_from(api.get(REPORT).data["totals"])


def conversations_by_origin(api: Api) -> int:
    groups = api.get(f"{REPORT}?by=origin").data["groups"]
    return sum(group["totals"]["conversations"] for group in groups)


def usage(api: Api) -> dict[str, Any]:
    (found,) = api.get("/v3/usage").json["data"]
    return dict(found)


def day_rows() -> list[DayRow]:
    return [*storage.scan(DayRow, DayRow.period.startswith("counts#") | DayRow.period.startswith("groups#"))]


def tallies() -> list[int]:
    """Return the sum of each month row and each day row."""
    return [sum(row.tallies()) for row in storage.scan(TallyRow, TallyRow.counts.exists())]


def recount() -> None:
    ran = CliRunner().invoke(cams, ["tallies", "recount"])
    assert ran.exit_code == 0, ran.output


@pytest.mark.parametrize("free", FREE)
def test_late_changes_of_the_deleted_agent_do_not_count(
    api: Api, pipeline: Pipeline, pass_time: PassTime, free: int
) -> None:
    for visitor in ("ann", "bo", "cy"):
        use(api, visitor)
    recreate(api, pass_time, free)
    use(api, "dee")
    pipeline.run()
    assert totals(api) == NEW
    assert conversations_by_origin(api) == 1
    assert usage(api)["totals"] == {"conversations": 1, "messages": 2, "interactions": 1, "deliveries": 0, "leads": 1}
    assert len(usage(api)["days"]) == 1


@pytest.mark.parametrize("free", FREE)
def test_late_changes_of_the_deleted_agent_make_no_rows(
    api: Api, pipeline: Pipeline, pass_time: PassTime, free: int
) -> None:
    use(api, "ann")
    recreate(api, pass_time, free)
    pipeline.run()
    recount()
    assert totals(api) == counts_with()
    assert usage(api)["days"] == []
    assert day_rows() == []


def test_a_change_in_the_second_of_the_creation_counts(api: Api, pipeline: Pipeline, pass_time: PassTime) -> None:
    """The clock of the process that makes the change may be up to a second behind."""
    recreate(api, pass_time)
    pass_time(-1)
    use(api, "ann")
    pass_time(1)
    pipeline.run()
    assert totals(api) == NEW


def test_the_last_change_that_the_cascade_waits_for_does_not_count(
    workspace: NewWorkspace, api: Api, pipeline: Pipeline, pass_time: PassTime
) -> None:
    """A process that has cached the deleted agent may write for 86 seconds. The cascade waits for 90 seconds."""
    deleted_at = clock.milliseconds()
    recreate(api, pass_time)
    tag = ids.id_at(deleted_at + 86_000, 0)
    agent = storage.join_key(workspace.workspace_id, "support")
    counts.record_changes([CountedChange(agent, tag, {"loads": 1}, {})])
    pipeline.run()
    assert totals(api) == counts_with()


def test_a_late_delivery_of_an_event_of_the_deleted_agent_does_not_count(
    workspace: NewWorkspace, api: Api, pipeline: Pipeline, pass_time: PassTime
) -> None:
    """A delivery may wait up to four days. Its outcome is newer than the new agent, but its event is older."""
    old_event = ids.new_id()
    recreate(api, pass_time)
    for event_id in (old_event, ids.new_id()):
        row = ledger.new(workspace.workspace_id, "hook", event_id, "agent_updated", event_id)
        row.agent_id = "support"
        put_now(row)
        row.outcome = ledger.DELIVERED
        put_now(row)
    follow("deliveries", pipeline.stream.read("deliveries"))
    pipeline.run()
    assert usage(api)["totals"]["deliveries"] == 1


def test_a_recount_removes_the_counts_of_the_deleted_agent(
    workspace: NewWorkspace, api: Api, pipeline: Pipeline, pass_time: PassTime
) -> None:
    """An earlier release counted late changes."""
    old, agent = clock.iso(clock.seconds()), storage.join_key(workspace.workspace_id, "support")
    use(api, "ann")
    recreate(api, pass_time, 2 * SECONDS)
    pipeline.run()
    numbers = [3] * len(hours.NAMES)
    for kind, document in (
        ("counts", {"hours": {old[11:13]: numbers}, "counted": {}}),
        ("groups", {"origin": {old[11:13]: {"web-chat": numbers}}}),
    ):
        row = DayRow(agent, storage.join_key(kind, old[:10]))
        row.seal(document)
        put_now(row)
    assert (totals(api)["conversations"], conversations_by_origin(api)) == (3, 3)
    use(api, "dee")
    pipeline.run()
    recount()
    assert totals(api) == NEW
    assert conversations_by_origin(api) == 1
    assert [[*row.open()["hours"]] for row in day_rows() if row.period.startswith("counts")][-1:] == [
        [clock.iso(clock.seconds())[11:13]]
    ]


def test_pages_of_a_new_agent_lead_to_its_own_conversations(api: Api, pipeline: Pipeline, pass_time: PassTime) -> None:
    for visitor in ("ann", "bo", "cy"):
        use(api, visitor)
    recreate(api, pass_time)
    use(api, "dee")
    for _ in range(2):
        pipeline.run()
        assert tallies() == [1, 1]
        recount()


def test_a_count_of_a_deleted_agent_makes_no_rows(api: Api, pipeline: Pipeline, pass_time: PassTime) -> None:
    use(api, "ann")
    assert api.delete("/v3/agents/support").status == 200
    pipeline.run()
    second_run(pass_time)
    pipeline.run()
    assert (tallies(), day_rows()) == ([], [])


@pytest.mark.parametrize("path", ["/v2/agents/support", "/v3/agents/support"])
def test_a_caller_cannot_choose_the_time_of_creation(api: Api, agent_id: str, pipeline: Pipeline, path: str) -> None:
    members: dict[str, Any] = {"title": "Support", "createdAtUNIX": 4_000_000_000}
    method, body = ("POST", members) if "v2" in path else ("PATCH", {"agent": members})
    api.call(method, path, body, api._headers)
    use(api, "ann")
    pipeline.run()
    assert totals(api) == NEW


def save_agent(workspace: NewWorkspace, agent_id: str, **members: Any) -> None:
    """Store agent members that the service itself would never store."""
    row = agents.read(workspace.workspace_id, agent_id)
    row.seal({**row.open(), **members})
    put_now(row)


@pytest.mark.parametrize("created", [None, "2026", [], {}])
def test_an_agent_whose_creation_time_is_no_number_counts_as_one_without(
    api: Api, workspace: NewWorkspace, pipeline: Pipeline, created: Any
) -> None:
    save_agent(workspace, "support", createdAtUNIX=created)
    use(api, "ann")
    pipeline.run()
    recount()
    assert totals(api) == NEW


def test_an_agent_that_cannot_be_counted_does_not_stop_the_others(
    api: Api, workspace: NewWorkspace, pipeline: Pipeline
) -> None:
    assert api.post("/v2/agents/another", {}).status == 200
    use(api, "ann")
    assert api.post("/v2/agents/another/analytics/bo", {"record": "load"}).status == 200
    pipeline.run()
    broken = agents.read(workspace.workspace_id, "another")
    broken.document = b"unreadable"
    put_now(broken)
    storage.delete_many(day_rows())
    ran = CliRunner().invoke(cams, ["tallies", "recount"])
    assert ran.exit_code == 1
    assert f"Skipped the agent another of workspace {workspace.workspace_id}: " in ran.stderr
    assert ran.stderr.endswith("Error: 1 could not be counted, because their records cannot be read.\n")
    assert "for 1 agents" in ran.stdout
    assert totals(api) == NEW
