"""A deleted agent's cascade: its two runs, its queue message, interruptions and delays."""

import os
from itertools import count
from typing import Any

import pytest

from chalicelib import clock, errors, maintenance, queues, storage
from chalicelib.agents import store as agents
from chalicelib.conversations import store as conversations
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.deletion import routes
from chalicelib.queues.messages import pack
from chalicelib.queues.tasks import ResumeCascade
from chalicelib.storage.unit import Unit
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import refused
from tests.conftest import PassTime
from tests.deletion.cascades import (
    HUMAN,
    as_record,
    cascade_messages,
    create,
    fill,
    items,
    maintain,
    records,
    second_run,
)


def test_a_cascade_that_runs_out_of_time_is_resumed_by_the_same_request(
    api: Api, agent_id: str, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(api)
    with monkeypatch.context() as patch:
        patch.setattr(routes, "_CASCADE_SECONDS", -1.0)
        answer = api.delete("/v3/agents/support")
    assert (answer.status, "still being deleted" in answer.json["message"]) == (200, True)
    assert api.get("/v3/agents/support").status == 404
    assert all(records(table) for table in ("agents", "conversations", "analytics"))
    assert api.delete("/v3/agents/support").json["message"] == "Agent deleted successfully"
    assert records("agents", "conversations", "analytics") == []
    refused(api.post("/v2/agents/support", {}), 409, code="AGENT_BEING_DELETED")
    pass_time(90)
    assert api.delete("/v3/agents/support").json["message"] == "Agent deleted successfully"
    assert api.delete("/v3/agents/support").status == 404
    assert api.post("/v2/agents/support", {}).status == 200


def test_a_cascade_that_runs_out_of_time_is_resumed_by_the_queue(
    api: Api, agent_id: str, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(api)
    moments = count(step=0.01)
    monkeypatch.setattr(clock, "monotonic", lambda: next(moments))
    monkeypatch.setattr(routes, "_CASCADE_SECONDS", 0.02)  # each invocation deletes a few batches
    monkeypatch.setattr(maintenance, "_SECONDS", 0.03)
    assert "still being deleted" in api.delete("/v3/agents/support").json["message"]
    pass_time(90)
    rounds = 0
    while messages := cascade_messages():
        rounds += 1
        maintain(messages)
    assert rounds > 1
    assert items("agents", "conversations", "leads", "analytics") == []
    assert api.post("/v2/agents/support", {}).status == 200


def test_a_second_run_that_comes_too_early_is_delayed(
    api: Api, agent_id: str, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    delays: list[int] = []
    send = queues.send

    def record(queue: str, texts: list[str], group: str, delay_seconds: int) -> None:
        delays.append(delay_seconds)
        send(queue, texts, group, delay_seconds)

    monkeypatch.setattr(queues, "send", record)
    api.delete("/v3/agents/support")
    for passed in (30, 59, 1):
        pass_time(passed)
        maintain(cascade_messages())
    assert delays == [90, 60, 1]
    assert (items("agents"), cascade_messages()) == ([], [])


def test_the_cascade_message_is_sent_before_the_agent_is_deleted(
    api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise errors.Unavailable()

    monkeypatch.setattr(queues, "send", fail)
    assert api.delete("/v3/agents/support").status == 503
    assert api.get("/v3/agents/support").status == 200


def test_a_cascade_message_for_an_existing_agent_deletes_nothing(
    api: Api, agent_id: str, workspace: NewWorkspace
) -> None:
    fill(api)
    before = items()
    maintain([as_record(pack(ResumeCascade(workspace.workspace_id, "support")))])
    assert items() == before
    assert cascade_messages() == []


def test_a_repeated_deletion_revokes_the_keys_that_an_interrupted_one_left(
    api: Api, agent_id: str, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: str) -> None:
        raise RuntimeError

    with monkeypatch.context() as patch:
        patch.setattr(agents, "list_keys", interrupted)
        assert api.delete("/v3/agents/support").status == 500
    assert len(credentials.list_active(workspace.workspace_id, tokens.AGENT)) == 1
    assert api.delete("/v3/agents/support").status == 200
    assert credentials.list_active(workspace.workspace_id, tokens.AGENT) == []


def test_conversations_that_the_index_does_not_show_yet_are_deleted_by_the_second_run(
    api: Api, agent_id: str, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(api, 5)
    with monkeypatch.context() as lagging:
        lagging.setattr(conversations, "list_by_creation", lambda *_: [])
        assert api.delete("/v3/agents/support").status == 200
    assert len(items("conversations")) == 5
    second_run(pass_time)
    assert items("conversations", "agents") == []


def test_a_conversation_that_is_written_while_it_is_deleted_is_left_to_the_second_run(
    api: Api, agent_id: str, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writing request reads the agent before its deletion."""
    state = "/agents/support/interact/ann/state"
    api.post(state, {"turns": HUMAN})
    commit, delete = Unit.commit, conversations.delete
    answers: list[Any] = []

    def delete_the_agent(unit: Unit) -> None:
        def commit_first(row: Any) -> None:
            monkeypatch.setattr(conversations, "delete", delete)
            commit(unit)
            delete(row)

        monkeypatch.setattr(Unit, "commit", commit)
        monkeypatch.setattr(conversations, "delete", commit_first)
        answers.append(api.delete("/v3/agents/support"))

    monkeypatch.setattr(Unit, "commit", delete_the_agent)
    long = [*HUMAN, {"messages": [{"text": os.urandom(300_000).hex()}]}]
    written = api.post(state, {"turns": long})
    assert [one.json["message"] for one in answers] == ["Agent deleted; its records are still being deleted"]
    assert written.status == 200
    assert len(items("conversations")) > 1
    second_run(pass_time)
    assert items("agents", "conversations") == []


@pytest.mark.usefixtures("no_pauses")
def test_a_conflict_of_the_cascade_does_not_run_the_deletion_again(
    api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent no longer exists, so running the view again would return 412 or delete a new agent with this id."""

    def conflict(*_: Any) -> None:
        raise storage.ConditionFailed()

    api.post("/agents/support/interact/ann/state", {"turns": HUMAN})
    headers = {**api._headers, "If-Match": api.get("/v3/agents/support").headers["etag"]}
    with monkeypatch.context() as patch:
        patch.setattr(conversations, "delete", conflict)
        answer = api.call("DELETE", "/v3/agents/support", None, headers)
    assert (answer.status, answer.json["message"]) == (200, "Agent deleted; its records are still being deleted")
    assert len(cascade_messages()) == 1


@pytest.mark.usefixtures("no_pauses")
def test_an_agent_that_changes_all_the_time_is_not_deleted_after_twenty_runs(
    api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def conflict(*_: agents.AgentRow) -> None:
        raise storage.ConditionFailed()

    with monkeypatch.context() as patch:
        patch.setattr(agents, "delete", conflict)
        refused(api.delete("/v3/agents/support"), 409, code="STALE")
    assert len(cascade_messages()) == 20
    assert api.get("/v3/agents/support").status == 200
