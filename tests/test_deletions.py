"""Deletion: of single records, and the cascading deletion of agents, which must leave no item in any table."""

import json
import os
from itertools import count
from typing import Any

import pytest
from moto.sqs.models import sqs_backends

from chalicelib import clock, errors, queues, storage
from chalicelib.agents import store as agents
from chalicelib.conversations import store as conversations
from chalicelib.conversations.listing import Numbers
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.deletion import cascade, functions, routes
from chalicelib.storage import bulk, sequence
from chalicelib.storage.unit import Unit
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.builders import lead_body
from tests.conftest import PassTime
from tests.evidence import refused
from tests.selection import one_of_each
from tests.writes import before_each_commit

LIST = "/v2/agents/support/convos"
HUMAN = [{"from": "human", "messages": [{"from": "human", "item": {"text": "Hello"}}]}]


def items(*tables: str) -> list[dict[str, Any]]:
    """Every item of these tables, or of all."""
    dynamodb = storage.sdk_client("dynamodb")
    names = [storage.table(name) for name in tables] or dynamodb.list_tables()["TableNames"]
    return [item for name in names for item in dynamodb.scan(TableName=name)["Items"]]


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
        ("/v2/orgs/acme", {"name": "Acme"}, "/v2/orgs/acme", "/v3/orgs/acme"),
    ],
    ids=["client", "organisation"],
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


def test_pages_stay_exact_after_conversations_are_deleted(api: Api, agent_id: str) -> None:
    ids = create(api, 50)
    for gone in (ids[0], ids[7], ids[8], ids[21], ids[49]):
        api.delete(f"/v3/agents/support/convos/{gone}")
        ids = [one for one in ids if one != gone]
    pages = pages_of(api)
    assert [len(page) for page in pages] == [20, 20, 5]
    assert [one for page in pages for one in page] == ids


def test_the_id_of_a_deleted_conversation_can_be_used_again(api: Api, agent_id: str) -> None:
    api.post("/agents/support/interact/ann/state", {"turns": HUMAN})
    create(api, 1)
    api.delete("/v3/agents/support/convos/ann")
    assert api.post("/agents/support/interact/ann/state").json["turns"] == []
    api.post("/agents/support/interact/ann/state", {"turns": []})
    assert pages_of(api)[0][0] == "ann"


def test_a_page_has_no_cursor_when_only_deleted_conversations_follow(api: Api, agent_id: str) -> None:
    ids = create(api, 21)
    api.delete(f"/v3/agents/support/convos/{ids[-1]}")
    assert "nextCursor" not in api.get(LIST).json


@one_of_each(lambda: None)
@pytest.mark.parametrize("holes", [[], [1], [40], [20, 21, 22], list(range(1, 41)), list(range(2, 40, 2))])
def test_the_pages_have_every_existing_number_once(holes: list[int]) -> None:
    ranges: list[tuple[int, int]] = []
    for number in holes:
        ranges = sequence._with_hole(ranges, number)
    known = Numbers(40, ranges)
    pages = [known.page(page) for page in range(1, 5)]
    assert [number for page in pages for number in page] == [n for n in range(40, 0, -1) if n not in holes]
    assert all(len(page) == 20 for page in pages[: (40 - len(holes)) // 20])


def test_deleting_all_conversations_leaves_one_hole() -> None:
    ranges: list[tuple[int, int]] = []
    for number in (3, 1, 2, 5, 4):
        ranges = sequence._with_hole(ranges, number)
    assert ranges == [(1, 5)]


# ---- agents ---------------------------------------------------------------------------------------


def fill(api: Api) -> None:
    """Create every kind of record that an agent can have."""
    create(api, 25)
    api.post("/agents/support/interact/ann/state", {"turns": [{"messages": [{"text": os.urandom(400_000).hex()}]}]})
    api.post("/v3/agents/support/tools", {"tool": {"name": "t"}})
    api.post("/v3/leads", lead_body(name="Ann"))
    for kind in ("load", "convo"):
        api.post("/v2/agents/support/analytics/ann", {"record": kind})


def test_a_deleted_agent_leaves_no_item(api: Api, workspace: NewWorkspace) -> None:
    tables = ("agents", "tools", "conversations", "leads", "analytics", "credentials", "workspaces")
    before = {str(item) for item in items(*tables)}
    key = api.post("/v2/agents/support", {}).json["data"]["SECRET_API_KEY"]
    api.post("/v2/agents/support", {"SECRET_API_KEY": tokens.new(tokens.AGENT)})  # the first key is now in its overlap
    fill(api)
    answer = api.delete("/v3/agents/support")
    assert answer.json == {"success": True, "message": "Agent deleted successfully"}
    assert [item for item in items(*tables) if str(item) not in before and "last_used_at" not in item] == []
    assert credentials.list_active(workspace.workspace_id, tokens.AGENT) == []
    assert Api(key).get("/v2/agents/support").status in (401, 404)


def test_a_deleted_agent_is_404_on_every_route(api: Api, agent_id: str) -> None:
    api.delete("/v3/agents/support")
    assert api.get("/v3/agents/support").status == 404
    assert api.get(LIST).status == 404
    assert api.get("/v3/agents/support/tools").status == 404
    assert api.post("/v3/agents/support/tools", {"tool": {"name": "t"}}).status == 404
    assert api.post("/v3/agents/support/convos", {"conversation": {}}).status == 404
    assert api.post("/agents/support/interact/ann/state", {"turns": HUMAN}).status == 404
    assert api.post("/v2/agents/support/analytics/ann", {"record": "load"}).status == 404
    assert api.delete("/v3/agents/support").status == 404


def test_a_deletion_does_not_affect_other_agents(api: Api, agent_id: str) -> None:
    api.post("/v2/agents/support2", {})
    api.post("/agents/support2/interact/ann/state", {"turns": HUMAN})
    api.post("/v3/agents/support2/tools", {"tool": {"name": "t"}})
    api.delete("/v3/agents/support")
    assert len(api.get("/v2/agents/support2/convos").data) == len(api.get("/v3/agents/support2/tools").data) == 1


def test_a_new_agent_with_the_id_of_a_deleted_one_is_empty(api: Api, agent_id: str) -> None:
    fill(api)
    api.delete("/v3/agents/support")
    assert api.post("/v2/agents/support", {}).status == 200
    assert (api.get(LIST).data, api.get("/v3/agents/support/tools").data) == ([], [])


def test_a_cascade_that_runs_out_of_time_is_resumed_by_the_same_request(
    api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(api)
    with monkeypatch.context() as patch:
        patch.setattr(routes, "_CASCADE_SECONDS", 0.0)
        answer = api.delete("/v3/agents/support")
    assert (answer.status, "still being deleted" in answer.json["message"]) == (200, True)
    assert api.get("/v3/agents/support").status == 404
    refused(api.post("/v2/agents/support", {}), 409, code="AGENT_BEING_DELETED")
    # The first run deleted some conversations, so the second cannot know that the index showed it all, and waits.
    now = clock.milliseconds()
    monkeypatch.setattr(clock, "milliseconds", lambda: now + 61_000)
    assert api.delete("/v3/agents/support").json["message"] == "Agent deleted successfully"
    assert items("conversations", "tools", "analytics") == []
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


def test_a_cascade_that_runs_out_of_time_is_resumed_by_the_queue(
    api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(api)
    moments = count(step=0.01)
    now = clock.milliseconds()
    monkeypatch.setattr(clock, "monotonic", lambda: next(moments))
    for module in (routes, functions):
        monkeypatch.setattr(module, "_CASCADE_SECONDS", 0.05)  # some batches each time
    assert "still being deleted" in api.delete("/v3/agents/support").json["message"]
    monkeypatch.setattr(clock, "milliseconds", lambda: now + 61_000)
    rounds = 0
    while messages := cascade_messages():
        rounds += 1
        functions.resume_cascade({"Records": messages}, None)
    assert rounds > 1
    assert items("conversations", "tools", "leads", "analytics") == []
    assert api.post("/v2/agents/support", {}).status == 200


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
        patch.setattr(agents, "revoke_all", interrupted)
        assert api.delete("/v3/agents/support").status == 500
    assert len(credentials.list_active(workspace.workspace_id, tokens.AGENT)) == 1
    assert api.delete("/v3/agents/support").status == 200
    assert credentials.list_active(workspace.workspace_id, tokens.AGENT) == []


def test_conversations_that_the_index_does_not_show_yet_are_deleted(
    api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(api, 5)
    monkeypatch.setattr(conversations, "batch_to_delete", lambda *_: [])
    assert cascade.delete(*_ids(api), seconds=10, check=lambda agent: agent)
    assert items("conversations") == []


def test_a_cascade_that_stops_within_a_conversation_deletes_the_rest_later(
    api: Api, workspace: NewWorkspace, agent_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sequence row names only the last conversations; the index has only those whose own item exists."""
    api.post("/agents/support/interact/ann/state", {"turns": [{"messages": [{"text": os.urandom(300_000).hex()}]}]})
    create(api, 33)
    monkeypatch.setattr(bulk, "_BATCH", 1)
    requests = count()

    def refuse_the_third(params: Any, **_: Any) -> None:
        if b"#ann" in params["body"] and next(requests) == 2:
            raise errors.Unavailable()

    events = storage.sdk_client("dynamodb").meta.events
    events.register("before-call.dynamodb.BatchWriteItem", refuse_the_third)
    try:
        assert api.delete("/v3/agents/support").status == 503
    finally:
        events.unregister("before-call.dynamodb.BatchWriteItem", refuse_the_third)
    assert items("conversations") != []
    now = clock.milliseconds()
    monkeypatch.setattr(clock, "milliseconds", lambda: now + 61_000)
    cascade.resume(json.dumps([workspace.workspace_id, "support"]), 10)
    assert items("conversations") == []


def test_a_conversation_written_during_the_cascade_is_deleted(
    api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The writer is a request that read the agent before its deletion."""
    state = "/agents/support/interact/ann/state"
    api.post(state, {"turns": HUMAN})
    commit, delete_many = Unit.commit, storage.delete_many
    written: list[None] = []

    def delete_the_agent(unit: Unit) -> None:
        def commit_first(rows: Any) -> None:
            monkeypatch.setattr(storage, "delete_many", delete_many)
            written.append(commit(unit))
            delete_many(rows)

        monkeypatch.setattr(Unit, "commit", commit)
        monkeypatch.setattr(storage, "delete_many", commit_first)
        assert api.delete("/v3/agents/support").status == 200

    monkeypatch.setattr(Unit, "commit", delete_the_agent)
    long = [*HUMAN, {"messages": [{"text": os.urandom(300_000).hex()}]}]
    assert (api.post(state, {"turns": long}).status, written) == (200, [None])
    assert items("conversations") == []


def test_a_write_after_the_cascade_is_refused(api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    state = "/agents/support/interact/ann/state"
    api.post(state, {"turns": HUMAN})
    deletions = iter(["/v3/agents/support"])
    before_each_commit(monkeypatch, lambda: [api.delete(path) for path in deletions])
    assert api.post(state, {"metadata": {"userName": "Ann"}}).status == 404
    assert items("conversations") == []


def test_a_cascade_is_not_complete_before_the_index_has_caught_up(
    api: Api, agent_id: str, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sequence, "_RECENT", 1)  # older ones are found only through the index
    create(api, 2)
    with monkeypatch.context() as lagging:
        lagging.setattr(conversations, "batch_to_delete", lambda *_: [])
        assert "still being deleted" in api.delete("/v3/agents/support").json["message"]
    pass_time(60)
    assert api.delete("/v3/agents/support").json["message"] == "Agent deleted successfully"
    assert items("conversations") == []


def test_a_conflict_of_the_cascade_does_not_run_the_deletion_again(
    api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The agent is gone then, so a second run would answer 412, or delete a new agent with this id."""

    def conflict(*_: str) -> None:
        raise storage.ConditionFailed()

    api.post("/agents/support/interact/ann/state", {"turns": HUMAN})
    headers = {**api._headers, "If-Match": api.get("/v3/agents/support").headers["etag"]}
    with monkeypatch.context() as patch:
        patch.setattr(clock, "sleep", lambda _: None)
        patch.setattr(conversations, "clear", conflict)
        answer = api.call("DELETE", "/v3/agents/support", None, headers)
    assert (answer.status, answer.json["message"]) == (200, "Agent deleted; its records are still being deleted")
    assert len(cascade_messages()) == 1


def test_an_agent_that_changes_all_the_time_is_not_deleted_after_ten_runs(
    api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def conflict(*_: agents.AgentRow) -> None:
        raise storage.ConditionFailed()

    with monkeypatch.context() as patch:
        patch.setattr(clock, "sleep", lambda _: None)
        patch.setattr(agents, "delete", conflict)
        refused(api.delete("/v3/agents/support"), 409, code="STALE")
    assert len(cascade_messages()) == 10
    assert api.get("/v3/agents/support").status == 200


def test_a_cascade_that_another_one_overtakes_leaves_a_new_agent_with_this_id(
    api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    revoke_all, runs = agents.revoke_all, count()

    def overtaken(*ids: str) -> None:
        revoke_all(*ids)
        if next(runs) == 1:  # the last step of the cascade before it deletes the tombstone
            assert api.delete("/v3/agents/support").json["message"] == "Agent deleted successfully"
            assert api.post("/v2/agents/support", {}).status == 200

    with monkeypatch.context() as patch:
        patch.setattr(agents, "revoke_all", overtaken)
        assert api.delete("/v3/agents/support").status == 200
    assert api.post("/v3/agents/support/tools", {"tool": {"name": "t"}}).status == 200
    assert api.delete("/v3/agents/support").json["message"] == "Agent deleted successfully"


def _ids(api: Api) -> tuple[str, str]:
    return api.get("/v3/agents/support/tools") and items("agents")[0]["workspace"]["S"], "support"
