"""If a cascade is overtaken by another cascade, it deletes no records of a new agent with the same id."""

from itertools import count
from typing import Any

import pytest

from chalicelib import storage
from chalicelib.agents import store as agents
from chalicelib.analytics import store as analytics
from chalicelib.conversations import store as conversations
from chalicelib.deletion import cascade, routes
from chalicelib.http import auth
from chalicelib.leads import store as leads
from chalicelib.queues.tasks import ResumeCascade
from chalicelib.tools import store as tools
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.conftest import PassTime
from tests.deletion.cascades import cascade_messages, fill, items, maintain

TABLES = ("agents", "conversations", "leads", "analytics", "credentials")
# The resource modules, each with the function that reads the next batch to delete.
BATCHES = [
    (agents, "list_keys"),
    *((module, "list_page") for module in (tools, leads, analytics)),
    (conversations, "list_by_creation"),
]


def interrupt_deletion(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Delete the agent, and interrupt its cascade before any record is deleted."""
    with monkeypatch.context() as patch:
        patch.setattr(routes, "_CASCADE_SECONDS", -1.0)
        api.delete("/v3/agents/support")


def create_again(api: Api) -> list[dict[str, Any]]:
    """Complete the cascade, and create an agent with the same id; return the new agent's items."""
    assert api.delete("/v3/agents/support").json["message"] == "Agent deleted successfully"
    assert api.post("/v2/agents/support", {}).status == 200
    fill(api, conversations=2)
    return items(*TABLES)


@pytest.mark.parametrize(("module", "function"), BATCHES, ids=[module.__name__.split(".")[1] for module, _ in BATCHES])
@pytest.mark.parametrize("overtaken", ["before", "after"])
def test_a_cascade_that_another_one_overtakes_deletes_nothing_of_a_new_agent(
    overtaken: str,
    module: Any,
    function: str,
    api: Api,
    agent_id: str,
    workspace: NewWorkspace,
    pass_time: PassTime,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A run pauses before or after it reads a batch.

    Meanwhile another run completes the cascade, and the id is reused.
    """
    fill(api, conversations=2)
    interrupt_deletion(api, monkeypatch)
    pass_time(90)
    read, pauses, new = getattr(module, function), iter([1]), []

    def overtake() -> None:
        for _ in pauses:
            new.append(create_again(api))

    def paused(*place: Any, **bounds: Any) -> list[Any]:
        if overtaken == "before":
            overtake()
        rows = [*read(*place, **bounds)]
        if overtaken == "after":
            overtake()
        return rows

    monkeypatch.setattr(module, function, paused)
    cascade.resume(ResumeCascade(workspace.workspace_id, "support"), 10)
    assert [items(*TABLES)] == new


@pytest.mark.parametrize("check", range(1, 5))
def test_a_cascade_that_is_overtaken_before_a_deletion_deletes_nothing_of_a_new_agent(
    check: int, api: Api, agent_id: str, workspace: NewWorkspace, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run pauses after it checks the tombstone and before it deletes a batch."""
    fill(api, conversations=2)
    interrupt_deletion(api, monkeypatch)
    pass_time(90)
    is_stored, checks, new = cascade._is_stored, count(1), []

    def paused(tombstone: agents.AgentRow) -> bool:
        stored = is_stored(tombstone)
        if next(checks) == check:
            monkeypatch.setattr(cascade, "_is_stored", is_stored)
            new.append(create_again(api))
        return stored

    monkeypatch.setattr(cascade, "_is_stored", paused)
    cascade.resume(ResumeCascade(workspace.workspace_id, "support"), 10)
    assert [items(*TABLES)] == new


def test_a_second_run_that_meets_a_changed_record_keeps_the_tombstone(
    api: Api, agent_id: str, workspace: NewWorkspace, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without the tombstone, no later run would look for records that late requests write."""
    fill(api, conversations=2)
    interrupt_deletion(api, monkeypatch)
    cascade_messages()
    pass_time(90)
    delete, changes = analytics.delete, iter([1])

    def change_once(row: Any) -> None:
        for _ in changes:
            raise storage.ConditionFailed
        delete(row)

    monkeypatch.setattr(analytics, "delete", change_once)
    cascade.resume(ResumeCascade(workspace.workspace_id, "support"), 10)
    assert agents.find_tombstone(workspace.workspace_id, "support") is not None
    maintain(cascade_messages())
    assert agents.find_tombstone(workspace.workspace_id, "support") is None


def test_the_last_step_of_an_overtaken_cascade_leaves_a_new_agent(
    api: Api, agent_id: str, workspace: NewWorkspace, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.delete("/v3/agents/support")
    pass_time(90)
    stage, pauses = storage.delete, iter([1])

    def overtaken(row: storage.Row, *condition: Any) -> None:
        assert isinstance(row, agents.AgentRow)
        for _ in pauses:
            assert api.delete("/v3/agents/support").status == 200
            assert api.post("/v2/agents/support", {}).status == 200
        stage(row, *condition)

    monkeypatch.setattr(storage, "delete", overtaken)
    cascade.resume(ResumeCascade(workspace.workspace_id, "support"), 10)
    assert next(pauses, None) is None
    assert api.get("/v3/agents/support").status == 200


def test_a_late_run_of_the_cascade_leaves_the_reused_key_of_a_new_agent(
    api: Api, agent_id: str, workspace: NewWorkspace, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the late run reads the keys, another run completes the deletion, and the agent is recreated."""
    key = api.get("/v3/agents/support").data["SECRET_API_KEY"]
    with monkeypatch.context() as patch:
        patch.setattr(cascade, "_run", lambda *_: False)
        api.delete("/v3/agents/support")
    pass_time(90)
    is_stored = cascade._is_stored

    def paused(tombstone: Any) -> bool:
        monkeypatch.setattr(cascade, "_is_stored", is_stored)
        found = is_stored(tombstone)
        assert api.delete("/v3/agents/support").json["message"] == "Agent deleted successfully"
        assert api.post("/v2/agents/support", {"SECRET_API_KEY": key}).status == 200
        return found

    monkeypatch.setattr(cascade, "_is_stored", paused)
    cascade.resume(ResumeCascade(workspace.workspace_id, "support"), 10)
    auth.clear_cache()
    assert Api(key).get("/v2/agents/support").status == 200
