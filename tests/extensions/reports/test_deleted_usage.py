"""The usage of deleted agents, which remains for billing."""

from typing import Any

import pytest

from chalicelib import clock, storage
from chalicelib.conversations.tallies import TallyRow
from chalicelib.extensions.reports.deleted_usage import DeletedUsageRow
from tests.api import Api
from tests.conftest import PassTime
from tests.deletion.cascades import second_run
from tests.extensions.reports.test_recreated_counts import recreate, use
from tests.extensions.reports.test_reports import Pipeline
from tests.followers import follow
from tests.listed_pages import flatten, read_pages

USED = {"conversations": 1, "messages": 2, "interactions": 1, "deliveries": 0, "leads": 1}
DAY = 24 * 60 * 60


@pytest.fixture
def pipeline(agent_id: str, monkeypatch: pytest.MonkeyPatch) -> Pipeline:
    return Pipeline(monkeypatch)


def delete(api: Api, pass_time: PassTime) -> int:
    """Delete the agent and complete the cascade. Return the Unix second of the deletion."""
    assert api.delete("/v3/agents/support").status == 200
    second = clock.seconds()
    second_run(pass_time)
    return second


def entries(api: Api, query: str = "") -> list[tuple[Any, Any, Any]]:
    return [(one.get("agentId"), one.get("deletedAt"), one["totals"]) for one in api.get(f"/v3/usage{query}").data]


def test_the_usage_of_a_deleted_agent_remains(api: Api, pipeline: Pipeline, pass_time: PassTime) -> None:
    use(api, "ann")
    pipeline.run()
    before = api.get("/v3/usage").data
    deleted_at = delete(api, pass_time)
    assert api.get("/v3/usage").data == [{**before[0], "deletedAt": deleted_at}]
    assert api.post("/v3/agents/support/usage", {}).data == {**before[0], "deletedAt": deleted_at}
    assert not [*storage.scan(TallyRow, TallyRow.agent.contains("support"))]


def test_usage_that_is_not_counted_yet_remains(api: Api, pipeline: Pipeline, pass_time: PassTime) -> None:
    use(api, "ann")
    for table in ("conversations", "leads", "analytics"):
        follow(table, pipeline.stream.read(table))
    deleted_at = delete(api, pass_time)
    pipeline.run()
    assert entries(api) == [("support", deleted_at, USED)]


def test_agents_with_the_same_id_have_separate_usage(api: Api, pipeline: Pipeline, pass_time: PassTime) -> None:
    deletions = []
    for visitor in ("ann", "bo"):
        use(api, visitor)
        pipeline.run()
        deletions.append(clock.seconds())
        recreate(api, pass_time)
    none = dict.fromkeys(USED, 0)
    expected = [("support", None, none), *(("support", second, USED) for second in deletions)]
    assert entries(api) == expected
    listed = [one.get("deletedAt") for one in flatten(read_pages(api, "/v3/usage", 1))]
    assert listed == [None, *deletions]
    assert api.post("/v3/agents/support/usage", {}).data["totals"] == none


def test_a_period_after_the_deletion_does_not_contain_the_agent(
    api: Api, pipeline: Pipeline, pass_time: PassTime
) -> None:
    use(api, "ann")
    pipeline.run()
    deleted_at = delete(api, pass_time)
    pass_time(2 * DAY)
    after = deleted_at + DAY
    assert entries(api, f"?from={after}") == []
    assert api.post("/v3/agents/support/usage", {"range": {"from": after}}).status == 404
    assert [one[1] for one in entries(api)] == [deleted_at]
    assert entries(api, f"?from={deleted_at - 3 * DAY}&to={deleted_at - 2 * DAY}") == []


def test_an_agent_without_usage_leaves_no_row(api: Api, pipeline: Pipeline, pass_time: PassTime) -> None:
    delete(api, pass_time)
    assert not [*storage.scan(DeletedUsageRow, DeletedUsageRow.period.startswith("usage#"))]
    assert entries(api) == []
