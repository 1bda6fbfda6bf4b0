"""Deletion: of single records, and the cascading deletion of agents, which must leave no item in any table."""

import json
import os
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest
from moto.sqs.models import sqs_backends

from chalicelib import clock, errors, queues, storage
from chalicelib.agents import store as agents
from chalicelib.analytics import store as analytics
from chalicelib.conversations import store as conversations
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.deletion import cascade, functions, routes
from chalicelib.http import auth
from chalicelib.leads import store as leads
from chalicelib.storage.unit import Unit
from chalicelib.tools import store as tools
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.builders import lead_body
from tests.conftest import PassTime
from tests.evidence import refused
from tests.selection import one_of_each
from tests.test_retention import clear_deleted
from tests.webhooks import pipeline
from tests.webhooks.conftest import stream as stream

LIST = "/v2/agents/support/convos"
HUMAN = [{"from": "human", "messages": [{"from": "human", "item": {"text": "Hello"}}]}]


def items(*tables: str) -> list[dict[str, Any]]:
    """Every item of these tables, or of all."""
    dynamodb = storage.sdk_client("dynamodb")
    names = [storage.table(name) for name in tables] or dynamodb.list_tables()["TableNames"]
    return [item for name in names for item in dynamodb.scan(TableName=name)["Items"]]


def records(*tables: str) -> list[dict[str, Any]]:
    """Every item of these tables that is not a tombstone."""
    return [item for item in items(*tables) if "deleted_at" not in item]


def create(api: Api, number: int) -> list[str]:
    """Create conversations; return their ids, newest first."""
    made = [api.post("/v3/agents/support/convos", {"conversation": {}}).data["id"] for _ in range(number)]
    return made[::-1]


def pages_of(api: Api) -> list[list[str]]:
    """Return the ids on each page of the list, up to the first empty page."""
    pages: list[list[str]] = []
    while page := api.get(f"{LIST}?page={len(pages) + 1}").data:
        pages.append([one["ID"] for one in page])
    return pages


# ---- tools, clients, organisations ----------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "body", "read", "delete"),
    [
        ("/v2/clients/ann", {"email": "a@x.test"}, "/v2/clients/ann", "/v3/clients/ann"),
        ("/v2/clients/ann", {"email": "a@x.test"}, "/v2/clients/ann", "/v2/clients/ann"),
        ("/v2/orgs/acme", {"name": "Acme"}, "/v2/orgs/acme", "/v3/orgs/acme"),
        ("/v2/orgs/acme", {"name": "Acme"}, "/v2/orgs/acme", "/v2/orgs/acme"),
    ],
    ids=["client", "client v2", "organisation", "organisation v2"],
)
def test_a_deleted_record_is_gone_and_leaves_no_item(api: Api, make: str, body: Any, read: str, delete: str) -> None:
    api.post(make, body)
    assert api.delete(delete).status == 200
    assert (api.get(read).status, api.delete(delete).status) == (404, 404)
    assert items("clients", "organisations") == []


def test_a_deleted_tool_is_gone_from_the_list(api: Api, agent_id: str) -> None:
    gone, stays = (api.post("/v3/agents/support/tools", {"tool": {"name": name}}).data["id"] for name in ("a", "b"))
    assert api.delete(f"/v3/tools/{gone}").status == 200
    assert [tool["id"] for tool in api.get("/v3/agents/support/tools").data] == [stays]
    assert api.get(f"/v3/tools/{gone}").status == 404


def test_the_email_of_a_deleted_client_can_be_used_again(api: Api) -> None:
    api.post("/v2/clients/ann", {"email": "a@x.test"})
    api.delete("/v3/clients/ann")
    assert api.post("/v2/clients/bo", {"email": "a@x.test"}).status == 200


@pytest.mark.parametrize("path", ["/v3/clients/x", "/v3/orgs/x", "/v3/agents/support"])
@one_of_each(lambda: None)
def test_a_record_of_another_workspace_cannot_be_deleted(
    api: Api, agent_id: str, other_workspace: NewWorkspace, path: str
) -> None:
    api.post("/v2/clients/x", {})
    api.post("/v2/orgs/x", {"name": "X"})
    before = items("clients", "organisations", "agents")
    assert Api(other_workspace.workspace_key).delete(path).status == 404
    assert items("clients", "organisations", "agents") == before


# ---- conversations --------------------------------------------------------------------------------


def test_a_deleted_conversation_leaves_no_item(api: Api, agent_id: str) -> None:
    before = len(items("conversations"))
    long = [{"messages": [{"text": os.urandom(500_000).hex()}]}]
    api.post("/agents/support/interact/ann/state", {"turns": long})
    assert len(items("conversations")) > before + 1
    assert api.delete("/v3/agents/support/convos/ann").status == 200
    assert len(items("conversations")) == before
    assert api.delete("/v3/agents/support/convos/ann").status == 404


def test_the_id_of_a_deleted_conversation_can_be_used_again(api: Api, agent_id: str) -> None:
    api.post("/agents/support/interact/ann/state", {"turns": HUMAN})
    create(api, 1)
    api.delete("/v3/agents/support/convos/ann")
    assert api.post("/agents/support/interact/ann/state").json["turns"] == []
    api.post("/agents/support/interact/ann/state", {"turns": []})
    assert pages_of(api)[0][0] == "ann"


# ---- agents ---------------------------------------------------------------------------------------


def fill(api: Api) -> None:
    """Create every kind of record that an agent can have."""
    create(api, 25)
    api.post("/agents/support/interact/ann/state", {"turns": [{"messages": [{"text": os.urandom(400_000).hex()}]}]})
    api.post("/v3/agents/support/tools", {"tool": {"name": "t"}})
    api.post("/v3/leads", lead_body(name="Ann"))
    for kind in ("load", "convo"):
        api.post("/v2/agents/support/analytics/ann", {"record": kind})


def test_a_deleted_agent_leaves_no_item(
    api: Api, workspace: NewWorkspace, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = ("agents", "conversations", "leads", "analytics", "credentials", "workspaces")
    before = {str(item) for item in items(*tables)}
    key = api.post("/v2/agents/support", {}).json["data"]["SECRET_API_KEY"]
    api.post("/v2/agents/support", {"SECRET_API_KEY": tokens.new(tokens.AGENT)})  # the first key is now in its overlap
    fill(api)

    def left() -> list[dict[str, Any]]:
        return [item for item in items(*tables) if str(item) not in before and "last_used_at" not in item]

    answer = api.delete("/v3/agents/support")
    assert answer.json == {"success": True, "message": "Agent deleted successfully"}
    assert [item.keys() for item in left()] == [
        {"partition", "item", "agent_id", "deleted_at", "version_tag", "changed_by"}
    ]
    assert credentials.list_active(workspace.workspace_id, tokens.AGENT) == []
    assert Api(key).get("/v2/agents/support").status in (401, 404)
    second_run(pass_time)
    assert left() == []


def test_a_deleted_agent_is_404_on_every_route(api: Api, agent_id: str) -> None:
    api.delete("/v3/agents/support")
    assert api.get("/v3/agents/support").status == 404
    assert api.get(LIST).status == 404
    assert api.get("/v3/agents/support/tools").status == 404
    assert api.post("/v3/agents/support/tools", {"tool": {"name": "t"}}).status == 404
    assert api.post("/v3/agents/support/convos", {"conversation": {}}).status == 404
    assert api.post("/agents/support/interact/ann/state", {"turns": HUMAN}).status == 404
    assert api.post("/v2/agents/support/analytics/ann", {"record": "load"}).status == 404
    assert api.post("/v3/leads", lead_body()).status == 404
    assert api.get("/v3/agents/support/leads").status == 404
    assert api.patch("/v3/agents/support", {"agent": {"title": "New"}}).status == 404
    assert api.delete("/v3/agents/support/convos/ann").status == 404


def test_a_deletion_does_not_affect_other_agents(api: Api, agent_id: str) -> None:
    api.post("/v2/agents/support2", {})
    api.post("/agents/support2/interact/ann/state", {"turns": HUMAN})
    api.post("/v3/agents/support2/tools", {"tool": {"name": "t"}})
    api.delete("/v3/agents/support")
    assert len(api.get("/v2/agents/support2/convos").data) == len(api.get("/v3/agents/support2/tools").data) == 1


def test_a_new_agent_with_the_id_of_a_deleted_one_is_empty(api: Api, agent_id: str, pass_time: PassTime) -> None:
    fill(api)
    api.delete("/v3/agents/support")
    refused(api.post("/v2/agents/support", {}), 409, code="AGENT_BEING_DELETED")
    second_run(pass_time)
    assert api.post("/v2/agents/support", {}).status == 200
    assert (api.get(LIST).data, api.get("/v3/agents/support/tools").data) == ([], [])
    assert api.get("/v2/agents/support/analytics/ann").status == 404


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


def as_record(body: str) -> dict[str, str]:
    """Return a message as the function receives it."""
    return {"body": body, "receiptHandle": ""}


def cascade_messages() -> list[dict[str, str]]:
    """Take the messages of the cascade function off their queue, ignoring their delay."""
    waiting = sqs_backends["123456789012"]["eu-west-1"].queues[storage.table("cascades")]
    taken = [as_record(message.body) for message in waiting._messages]
    waiting._messages = []
    return taken


def second_run(pass_time: PassTime) -> None:
    """Let 90 seconds pass, and run the function with the messages of its queue."""
    pass_time(90)
    functions.resume_cascade({"Records": cascade_messages()}, None)
    assert cascade_messages() == []


def test_a_cascade_that_runs_out_of_time_is_resumed_by_the_queue(
    api: Api, agent_id: str, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(api)
    moments = count(step=0.01)
    monkeypatch.setattr(clock, "monotonic", lambda: next(moments))
    for module in (routes, functions):
        monkeypatch.setattr(module, "_CASCADE_SECONDS", 0.02)  # some batches each time
    assert "still being deleted" in api.delete("/v3/agents/support").json["message"]
    pass_time(90)
    rounds = 0
    while messages := cascade_messages():
        rounds += 1
        functions.resume_cascade({"Records": messages}, None)
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
        functions.resume_cascade({"Records": cascade_messages()}, None)
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
    functions.resume_cascade({"Records": [as_record(json.dumps([workspace.workspace_id, "support"]))]}, None)
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
        lagging.setattr(conversations, "batch_to_delete", lambda *_: [])
        assert api.delete("/v3/agents/support").status == 200
    assert len(items("conversations")) == 5
    second_run(pass_time)
    assert items("conversations", "agents") == []


def test_received_messages_with_items_of_their_own_are_deleted(
    api: Api, agent_id: str, stream: pipeline.Stream
) -> None:
    turns = [{"from": "human", "messages": [{"item": {"text": f"{number}"}} for number in range(1_000)]}]
    assert api.post("/agents/support/interact/ann/state", {"turns": turns}).status == 200
    assert [item for item in items("conversations") if item["item"]["S"].startswith("received#")]
    api.delete("/v3/agents/support")
    clear_deleted(stream)
    assert items("conversations") == []


def test_a_conversation_that_is_written_while_it_is_deleted_is_left_to_the_second_run(
    api: Api, agent_id: str, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer is a request that read the agent before its deletion."""
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


def test_a_conflict_of_the_cascade_does_not_run_the_deletion_again(
    api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent is gone then, so a second run of the view would answer 412, or delete a new agent with this id."""

    def conflict(*_: Any) -> None:
        raise storage.ConditionFailed()

    api.post("/agents/support/interact/ann/state", {"turns": HUMAN})
    headers = {**api._headers, "If-Match": api.get("/v3/agents/support").headers["etag"]}
    with monkeypatch.context() as patch:
        patch.setattr(clock, "sleep", lambda _: None)
        patch.setattr(conversations, "delete", conflict)
        answer = api.call("DELETE", "/v3/agents/support", None, headers)
    assert (answer.status, answer.json["message"]) == (200, "Agent deleted; its records are still being deleted")
    assert len(cascade_messages()) == 1


def test_an_agent_that_changes_all_the_time_is_not_deleted_after_twenty_runs(
    api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def conflict(*_: agents.AgentRow) -> None:
        raise storage.ConditionFailed()

    with monkeypatch.context() as patch:
        patch.setattr(clock, "sleep", lambda _: None)
        patch.setattr(agents, "delete", conflict)
        refused(api.delete("/v3/agents/support"), 409, code="STALE")
    assert len(cascade_messages()) == 20
    assert api.get("/v3/agents/support").status == 200


# Each resource, with the function that reads its next batch to delete.
BATCHES = [(agents, "list_keys"), *((one, "batch_to_delete") for one in (tools, leads, analytics, conversations))]


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
    """A run pauses before or after it reads a batch. Then another completes the cascade; the id is used again."""
    fill(api)
    with monkeypatch.context() as patch:
        patch.setattr(routes, "_CASCADE_SECONDS", -1.0)
        api.delete("/v3/agents/support")
    pass_time(90)
    read, pauses, new = getattr(module, function), iter([1]), []

    def overtake() -> None:
        for _ in pauses:
            assert api.delete("/v3/agents/support").json["message"] == "Agent deleted successfully"
            assert api.post("/v2/agents/support", {}).status == 200
            fill(api)
            new.append(items("agents", "conversations", "leads", "analytics", "credentials"))

    def paused(*place: Any) -> Any:
        if overtaken == "before":
            overtake()
            return read(*place)
        rows = read(*place)
        overtake()
        return rows

    monkeypatch.setattr(module, function, paused)
    cascade.resume(json.dumps([workspace.workspace_id, "support"]), 10)
    assert [items("agents", "conversations", "leads", "analytics", "credentials")] == new


@pytest.mark.parametrize("check", range(1, 7))
def test_a_cascade_that_is_overtaken_before_a_deletion_deletes_nothing_of_a_new_agent(
    check: int, api: Api, agent_id: str, workspace: NewWorkspace, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The run pauses between its check of the tombstone and the deletion of a batch."""
    fill(api)
    with monkeypatch.context() as patch:
        patch.setattr(routes, "_CASCADE_SECONDS", -1.0)
        api.delete("/v3/agents/support")
    pass_time(90)
    is_stored, checks, new = cascade._is_stored, count(1), []

    def paused(tombstone: agents.AgentRow) -> bool:
        stored = is_stored(tombstone)
        if next(checks) == check:
            monkeypatch.setattr(cascade, "_is_stored", is_stored)
            assert api.delete("/v3/agents/support").json["message"] == "Agent deleted successfully"
            assert api.post("/v2/agents/support", {}).status == 200
            fill(api)
            new.append(items("agents", "conversations", "leads", "analytics", "credentials"))
        return stored

    monkeypatch.setattr(cascade, "_is_stored", paused)
    cascade.resume(json.dumps([workspace.workspace_id, "support"]), 10)
    assert [items("agents", "conversations", "leads", "analytics", "credentials")] == new


def test_the_last_step_of_an_overtaken_cascade_leaves_a_new_agent(
    api: Api, agent_id: str, workspace: NewWorkspace, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.delete("/v3/agents/support")
    pass_time(90)
    stage, pauses = agents.delete_tombstone, iter([1])

    def overtaken(row: agents.AgentRow) -> None:
        for _ in pauses:
            assert api.delete("/v3/agents/support").status == 200
            assert api.post("/v2/agents/support", {}).status == 200
        stage(row)

    monkeypatch.setattr(agents, "delete_tombstone", overtaken)
    cascade.resume(json.dumps([workspace.workspace_id, "support"]), 10)
    assert api.get("/v3/agents/support").status == 200


# ---- processes that remember a deleted agent ------------------------------------------------------


def paused_at_commit(
    monkeypatch: pytest.MonkeyPatch, send: Callable[[], Answer], in_between: Callable[[], object]
) -> Answer:
    """Send a request whose process pauses before its first commit, until `in_between` is done."""
    commit, pauses = Unit.commit, iter([1])

    def pausing(unit: Unit) -> None:
        if unit._steps:
            for _ in pauses:
                in_between()
        commit(unit)

    with monkeypatch.context() as patch:
        patch.setattr(Unit, "commit", pausing)
        return send()


STATE = "/agents/support/interact/ann/state"
GHOSTS: dict[str, Callable[[Api], Answer]] = {
    "conversation": lambda api: api.post("/v3/agents/support/convos", {"conversation": {}}),
    "first state": lambda api: api.post("/agents/support/interact/bo/state", {"turns": HUMAN}),
    "long state": lambda api: api.post(
        "/agents/support/interact/bo/state", {"turns": [{"messages": [{"text": os.urandom(300_000).hex()}]}]}
    ),
    "tool": lambda api: api.post("/v3/agents/support/tools", {"tool": {"name": "t"}}),
    "lead": lambda api: api.post("/v3/leads", lead_body()),
    "analytics": lambda api: api.post("/v2/agents/support/analytics/ann", {"record": "load"}),
}


@pytest.mark.parametrize("ghost", GHOSTS.values(), ids=GHOSTS)
def test_a_write_that_the_first_run_misses_is_deleted_by_the_second(
    ghost: Callable[[Api], Answer], api: Api, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer read the agent before its deletion, and writes after the first run."""
    pass_time(0)
    before = items()
    api.post("/v2/agents/support", {})
    fill(api)

    def delete_the_agent() -> None:
        assert api.delete("/v3/agents/support").json["message"] == "Agent deleted successfully"
        pass_time(29)

    assert paused_at_commit(monkeypatch, lambda: ghost(api), delete_the_agent).status == 200
    assert records("agents", "conversations", "leads", "analytics") != []
    pass_time(61)
    functions.resume_cascade({"Records": cascade_messages()}, None)
    assert cascade_messages() == []
    left = [item for item in items() if item not in before and "last_used_at" not in item]
    assert {item["record"]["S"].split("#")[1] for item in left} <= {"keys", "tools"}, "only the history is left"


def test_a_state_that_changes_after_the_first_run_is_refused(
    api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.post(STATE, {"turns": HUMAN})
    answer = paused_at_commit(
        monkeypatch,
        lambda: api.post(STATE, {"metadata": {"userName": "Ann"}}),
        lambda: api.delete("/v3/agents/support"),
    )
    assert answer.status == 404
    assert items("conversations") == []


def test_analytics_of_a_remembered_agent_are_deleted_within_two_minutes(
    api: Api, agent_id: str, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process remembers the agent for 30 seconds."""
    pass_time(0)
    analytics_path = "/v2/agents/support/analytics"
    assert api.post(f"{analytics_path}/first", {"record": "load"}).status == 200
    remembered = dict(agents._known_agents)
    api.delete("/v3/agents/support")
    agents._known_agents.update(remembered)
    statuses = []
    for second in range(0, 35, 5):
        statuses.append(api.post(f"{analytics_path}/{second}", {"record": "load"}).status)
        pass_time(5)
    assert statuses == [200] * 6 + [404]
    pass_time(55)
    functions.resume_cascade({"Records": cascade_messages()}, None)
    assert items("agents", "analytics") == []


@pytest.mark.parametrize("commit", [0, 27], ids=["at once", "after all attempts"])
def test_nothing_is_left_two_minutes_after_a_deletion_whatever_a_process_remembers(
    commit: int, api: Api, agent_id: str, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The slowest of all: the deletion takes effect late, is remembered for 30 s, and the last request takes 29 s."""
    pass_time(0)
    due: list[tuple[int, str]] = []
    monkeypatch.setattr(
        queues, "send", lambda _, texts, group, delay: due.extend((clock.seconds() + delay, text) for text in texts)
    )

    def wait(seconds: int) -> None:
        for _ in range(seconds):
            pass_time(1)
            for message in [one for one in due if one[0] <= clock.seconds()]:
                due.remove(message)
                functions.resume_cascade({"Records": [as_record(message[1])]}, None)

    path = "/v2/agents/support/analytics/ann"
    known: dict[tuple[str, str], int] = {}

    def read_just_before() -> None:
        wait(commit)
        assert api.post(path, {"record": "load"}).status == 200
        known.update(agents._known_agents)

    start = clock.seconds()
    deletion = paused_at_commit(monkeypatch, lambda: api.delete("/v3/agents/support"), read_just_before)
    assert deletion.json["message"] == "Agent deleted successfully"
    assert items("analytics") == []
    wait(29)
    agents._known_agents.update(known)
    ghost = paused_at_commit(monkeypatch, lambda: api.post(path, {"record": "load"}), lambda: wait(29))
    assert (ghost.status, len(items("analytics"))) == (200, 1)
    wait(start + 120 - clock.seconds())
    assert (items("agents", "analytics"), due) == ([], [])


def test_lists_of_agents_skip_tombstones_and_fill_their_pages(api: Api) -> None:
    for number in range(12):
        api.post(f"/v2/agents/a{number:02}", {})
    for number in (0, 1, 2, 3, 4, 6, 7, 11):
        assert api.delete(f"/v3/agents/a{number:02}").status == 200
    shown: list[list[str]] = []
    cursor: str | None = ""
    while cursor is not None:
        answer = api.get(f"/v3/agents?limit=2{cursor}")
        shown.append([one["id"] for one in answer.data])
        cursor = f"&cursor={answer.json['nextCursor']}" if "nextCursor" in answer.json else None
    assert shown == [["a05", "a08"], ["a09", "a10"]]


def test_a_read_that_misses_a_new_agent_is_repeated(api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """An eventually consistent read may not see an agent that was created a moment ago."""
    from_raw_data = agents.AgentRow.from_raw_data
    missed = iter([1])

    def miss_once(data: Any) -> Any:
        return next((None for _ in missed), from_raw_data(data))

    monkeypatch.setattr(agents.AgentRow, "from_raw_data", miss_once)
    assert api.post(STATE, {"turns": HUMAN}).status == 200


def test_a_late_run_of_the_cascade_leaves_the_reused_key_of_a_new_agent(
    api: Api, agent_id: str, workspace: NewWorkspace, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The late run has read the keys; then another run completes the deletion, and the agent is created again."""
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
    cascade.resume(json.dumps([workspace.workspace_id, "support"]), 10)
    auth.clear_cache()
    assert Api(key).get("/v2/agents/support").status == 200


def test_deleting_a_conversation_deletes_its_received_messages(
    api: Api, agent_id: str, stream: pipeline.Stream
) -> None:
    messages = [{"item": {"text": str(number)}} for number in range(1_000)]  # too many for the conversation's own item
    body = {"turns": [{"from": "human", "messages": messages}]}
    assert api.post("/agents/support/interact/ann/state", body).status == 200
    assert api.delete("/v3/agents/support/convos/ann").status == 200
    clear_deleted(stream)
    assert items("conversations") == []
