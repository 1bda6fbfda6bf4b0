"""Concurrent writers of one agent, and a database response that is lost."""

from collections.abc import Callable
from typing import Any

import pytest

from chalicelib.workspaces.store import NewWorkspace
from tests.agents.records import row_of, stored_agent
from tests.api import Api
from tests.assertions import refused
from tests.direct_writes import before_each_commit
from tests.engine_requests import counted, lose_first_answer


def interrupt(monkeypatch: pytest.MonkeyPatch, times: int, another: Callable[[], Any]) -> None:
    """Run another write before each of the next `times` commits."""
    left = [times]

    def act() -> None:
        if left[0] > 0:
            left[0], rest = 0, left[0] - 1
            another()
            left[0] = rest

    before_each_commit(monkeypatch, act)


@pytest.mark.parametrize("form", ["v2", "v3"])
def test_a_change_is_applied_to_a_concurrent_write(
    form: str, api: Api, agent_id: str, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = {"agent": {"ui": {"widgetType": "direct-chat"}, "nodes": [{"id": "theirs"}], "lang": "de"}}
    interrupt(monkeypatch, 1, lambda: api.patch(f"/v3/agents/{agent_id}", theirs))
    if form == "v2":
        changed = api.post(f"/v2/agents/{agent_id}", {"title": "ours"}).data
        assert (changed["title"], changed["lang"]) == ("ours", "de")
    else:
        change = {"title": "ours", "ui": {"bgImageVisible": True}, "nodes": [{"id": "ours"}]}
        changed = api.patch(f"/v3/agents/{agent_id}", {"agent": change}).data
        assert changed["ui"] == {"bgImageVisible": True, "widgetType": "direct-chat"}
        assert changed["nodes"] == [{"id": "theirs"}, {"id": "ours"}]
    assert stored_agent(workspace).items() >= {"title": "ours", "lang": "de"}.items()


def test_the_second_of_two_concurrent_creations_is_an_edit(
    api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = {"title": "theirs", "lang": "de"}
    interrupt(monkeypatch, 1, lambda: api.post("/v2/agents/support", theirs))
    answer = api.post("/v2/agents/support", {"title": "ours"})
    assert answer.json["message"] == "Agent updated successfully"
    assert (answer.data["title"], answer.data["lang"]) == ("ours", "de")


@pytest.mark.usefixtures("no_pauses")
def test_a_change_that_always_loses_the_race_is_a_conflict(
    api: Api, agent_id: str, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = iter(range(100))
    interrupt(monkeypatch, 99, lambda: api.post(f"/v2/agents/{agent_id}", {"vg_maxTokens": next(numbers)}))
    refused(api.post(f"/v2/agents/{agent_id}", {"title": "ours"}), 409)
    assert (stored_agent(workspace)["title"], next(numbers)) == ("Support", 20)


def test_a_change_with_a_lost_answer_applies_once_without_a_conflict(
    api: Api, agent_id: str, workspace: NewWorkspace
) -> None:
    """The SDK retries the request, and the condition of the retry fails."""
    with counted() as requests, lose_first_answer("PutItem"):
        answer = api.patch(f"/v3/agents/{agent_id}", {"agent": {"title": "Sales"}})
    assert answer.data["title"] == "Sales"
    assert (requests["PutItem"], answer.headers["etag"]) == (2, f'"{row_of(workspace).version_tag}"')
    assert api.patch(f"/v3/agents/{agent_id}", {"agent": {"title": "Again"}}).status == 200
