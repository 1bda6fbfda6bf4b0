"""Retention: a conversation and all its parts expire a configured number of days after the last change."""

from itertools import count
from typing import Any

import pytest
from moto.sqs.models import sqs_backends

from chalicelib import clock, ids, maintenance, storage
from chalicelib.conversations import retention, tallies
from chalicelib.conversations import store as conversations
from chalicelib.conversations.rows import CONVERSATION_ITEM, MessageIndexRow
from chalicelib.conversations.transcript import turns
from chalicelib.queues.messages import pack
from chalicelib.queues.tasks import ApplyRetention, ClearLeftovers, RecountQuarter
from chalicelib.workspaces import store as workspaces
from chalicelib.workspaces.store import NewWorkspace
from tests import moto_tables
from tests.api import Api
from tests.builders import message, state_body
from tests.conftest import PassTime
from tests.deletion.cascades import as_record, maintain, task_messages
from tests.engine_requests import counted
from tests.followers import follow
from tests.webhooks import pipeline
from tests.webhooks.conftest import stream as stream

DAY = 24 * 60 * 60
STATE = "/agents/support/interact/ann/state"


def heads() -> dict[str, dict[str, Any]]:
    """Return each conversation's main item by conversation id."""
    found = [one for one in moto_tables.items()["cams-conversations"] if one["item"]["S"] == CONVERSATION_ITEM]
    return {storage.split_key(one["conversation"]["S"])[-1]: one for one in found}


def expiries() -> dict[str, int | None]:
    """Return how many days remain until each conversation expires, or None if it never expires."""
    now = clock.seconds()
    return {
        name: (int(one["expires_at"]["N"]) - now) // DAY if "expires_at" in one else None
        for name, one in heads().items()
    }


def set_days(api: Api, days: int | None, pass_time: PassTime) -> None:
    """Set the workspace's retention period, and apply it to existing conversations."""
    assert api.patch("/v3/workspace", {"workspace": {"retentionDays": days}}).status == 200
    apply(pass_time)


def apply(pass_time: PassTime) -> None:
    pass_time(90)
    while taken := task_messages(ApplyRetention):
        maintain(taken)


def write(api: Api, name: str = "ann", *texts: str) -> None:
    assert api.post(f"/agents/support/interact/{name}/state", state_body(*texts or ("Hello",))).status == 200


def expire(stream: pipeline.Stream, *names: str) -> list[dict[str, Any]]:
    """Delete expired conversations as TTL does; return the stream records."""
    dynamodb, stored = storage.sdk_client("dynamodb"), heads()
    stream.read()
    for name in names:
        key = {one: stored[name][one] for one in ("conversation", "item")}
        dynamodb.delete_item(TableName="cams-conversations", Key=key)
    records = stream.read("conversations")
    identity = {"principalId": "dynamodb.amazonaws.com", "type": "Service"}
    return [{**one, "userIdentity": identity} for one in records]


def clear_deleted(stream: pipeline.Stream) -> None:
    """Delete the leftovers of deleted conversations through the stream and the queue."""
    follow("conversations", stream.read("conversations"))
    maintain(task_messages(ClearLeftovers))


# ---- expiry ---------------------------------------------------------------------------------------


def test_a_conversation_without_retention_has_no_expiry(api: Api, agent_id: str) -> None:
    write(api)
    assert api.post("/v3/agents/support/convos", {"conversation": {}}).status == 200
    assert set(expiries().values()) == {None}


def test_a_new_conversation_expires_after_the_days_of_the_workspace(
    api: Api, agent_id: str, pass_time: PassTime
) -> None:
    set_days(api, 30, pass_time)
    write(api)
    assert api.post("/v3/agents/support/convos", {"conversation": {}}).status == 200
    assert list(expiries().values()) == [30, 30]
    assert "retentionDays" not in api.post(STATE).text
    assert "retentionDays" not in api.get("/v2/agents/support/convos").text


def test_the_days_of_the_agent_win(api: Api, agent_id: str, pass_time: PassTime) -> None:
    set_days(api, 30, pass_time)
    changed = api.patch("/v3/agents/support", {"agent": {"retention": {"days": 7.0}}})
    assert changed.data["retention"] == {"days": 7}
    assert changed.json.get("warnings") is None
    write(api)
    assert expiries() == {"ann": 7}


@pytest.mark.parametrize("retention", [{"days": 0}, {"days": 3651}, {"days": "7"}, {"days": 1.5}, 7])
def test_the_days_of_an_agent_are_a_whole_number(retention: Any, api: Api, agent_id: str) -> None:
    assert api.patch("/v3/agents/support", {"agent": {"retention": retention}}).status == 400


def test_each_change_moves_the_expiry(api: Api, agent_id: str, pass_time: PassTime) -> None:
    set_days(api, 30, pass_time)
    write(api)
    pass_time(10 * DAY)
    assert expiries() == {"ann": 20}
    assert api.post(STATE).status == 200  # a read does not change the expiry
    assert expiries() == {"ann": 20}
    write(api, "ann", "Hello", "Hello again")
    assert expiries() == {"ann": 30}


def test_an_expired_conversation_is_absent_before_dynamodb_deletes_it(
    api: Api, agent_id: str, pass_time: PassTime
) -> None:
    set_days(api, 30, pass_time)
    write(api, "ann")
    write(api, "bo")
    pass_time(30 * DAY - 1)
    write(api, "bo", "Again")
    assert len(api.get("/v2/agents/support/convos").data) == 2
    pass_time(1)
    assert api.post(STATE).json["turns"] == []
    assert [one["ID"] for one in api.get("/v2/agents/support/convos").data] == ["bo"]
    assert api.delete("/v3/agents/support/convos/ann").status == 404
    assert api.call("POST", STATE, headers={**api._headers, "If-Match": "*"}).status == 412


def test_a_write_to_an_expired_conversation_begins_a_new_one(api: Api, agent_id: str, pass_time: PassTime) -> None:
    set_days(api, 30, pass_time)
    noise = [message(f"{number} " + "".join(chr(97 + (number * 7 + at * at) % 26) for at in range(2_000)))
             for number in range(200)]  # fmt: skip
    assert api.post(STATE, {"turns": [{"from": "human", "messages": noise}]}).status == 200
    assert len(moto_tables.items()["cams-conversations"]) > 3
    created = heads()["ann"]["created"]["S"]
    pass_time(31 * DAY)
    write(api, "ann", "New")
    answer = api.post(STATE).json
    assert [one["messages"]["item"]["text"] for one in answer["turns"]] == ["New"]
    assert answer["chatState"]["messagesNum"] == 1
    assert heads()["ann"]["created"]["S"] > created
    assert expiries() == {"ann": 30}
    assert len([one for one in moto_tables.items()["cams-conversations"] if "turns#" in one["item"]["S"]]) == 0


def test_tallies_follow_a_conversation_that_replaces_an_expired_one(
    api: Api, agent_id: str, workspace: NewWorkspace, stream: pipeline.Stream, pass_time: PassTime
) -> None:
    set_days(api, 1, pass_time)
    write(api)
    count_changed(stream)
    pass_time(DAY)
    write(api)
    count_changed(stream)
    today = clock.iso(clock.seconds())[:10]
    months = tallies.list_months(workspace.workspace_id, "support")
    counted = {f"{month}-{day:02}": one for month, days in months for day, one in enumerate(days, 1) if one}
    assert counted == {today: 1}


def count_changed(stream: pipeline.Stream) -> None:
    """Recount the conversations in each quarter-hour that the stream records name."""
    reported = ("INSERT", "REMOVE")  # the function's event filter drops other changes
    changes = [one for one in stream.read("conversations") if one["eventName"] in reported]
    follow("conversations", changes)
    maintain(task_messages(RecountQuarter))


def test_retention_costs_no_request_in_a_warm_process(api: Api, agent_id: str) -> None:
    assert api.post("/v3/agents/support/convos", {"conversation": {}}).status == 200
    with counted() as requests:
        assert api.post("/v3/agents/support/convos", {"conversation": {}}).status == 200
        write(api)
    assert requests == {"GetItem": 1, "BatchGetItem": 1, "PutItem": 2}


def test_the_days_of_the_workspace_are_known_for_a_minute(
    api: Api, agent_id: str, pass_time: PassTime, workspace: NewWorkspace
) -> None:
    assert workspaces.retention_days(workspace.workspace_id) is None
    assert api.patch("/v3/workspace", {"workspace": {"retentionDays": 5}}).status == 200
    pass_time(59)
    assert workspaces.retention_days(workspace.workspace_id) is None
    pass_time(1)
    assert workspaces.retention_days(workspace.workspace_id) == 5


# ---- changed settings -----------------------------------------------------------------------------


def test_a_change_reaches_what_exists_and_null_takes_it_back(
    api: Api, agent_id: str, stream: pipeline.Stream, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(retention, "_PAGE", 2)
    assert api.post("/v2/agents/sales", {}).status == 200
    for number in range(5):
        write(api, f"c{number}")
    assert api.post("/agents/sales/interact/other/state", state_body("Hello")).status == 200
    pass_time(10 * DAY - 90)
    before = {name: api.post(f"/agents/support/interact/{name}/state").json for name in heads() if name != "other"}
    set_days(api, 30, pass_time)
    assert expiries() == dict.fromkeys((*before, "other"), 20)
    assert {name: api.post(f"/agents/support/interact/{name}/state").json for name in before} == before
    assert api.patch("/v3/agents/support", {"agent": {"retention": {"days": 50}}}).status == 200
    apply(pass_time)
    assert expiries() == {**dict.fromkeys(before, 39), "other": 19}
    assert api.patch("/v3/agents/support", {"agent": {"retention": None}}).status == 200
    set_days(api, None, pass_time)
    assert set(expiries().values()) == {None}
    # A changed expiry does not count as a user message.
    assert len(pipeline.events_of(stream.read("conversations"))) == 6


@pytest.mark.parametrize("days", [60, None])
def test_a_change_does_not_bring_back_what_has_expired(
    days: int | None, api: Api, agent_id: str, pass_time: PassTime
) -> None:
    set_days(api, 30, pass_time)
    write(api)
    pass_time(30 * DAY)
    set_days(api, days, pass_time)
    assert api.get("/v3/agents/support/convos/ann").status == 404
    assert api.get("/v3/agents/support/convos").data == []
    assert "expires_at" in heads()["ann"]


def test_a_change_that_takes_too_long_is_continued_by_the_queue(
    api: Api, agent_id: str, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(5):
        write(api, f"c{number}")
    monkeypatch.setattr(retention, "_PAGE", 1)
    seconds = count()
    monkeypatch.setattr(clock, "monotonic", lambda: next(seconds))
    monkeypatch.setattr(maintenance, "_SECONDS", 1.5)  # each invocation processes one page
    assert api.patch("/v3/workspace", {"workspace": {"retentionDays": 30}}).status == 200
    pass_time(90)
    rounds = 0
    while taken := task_messages(ApplyRetention):
        rounds += 1
        maintain(taken)
        maintain(taken)
        assert rounds < 100
    assert rounds >= 5
    assert set(expiries().values()) == {29}


def test_a_write_during_a_change_is_kept(
    api: Api, agent_id: str, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(api)
    find = conversations.find
    done: list[bool] = []

    def find_slowly(conversation: str) -> Any:
        row = find(conversation)
        if not done:
            done.append(True)
            write(api, "ann", "Hello", "In between")
        return row

    monkeypatch.setattr(conversations, "find", find_slowly)
    set_days(api, 30, pass_time)
    assert expiries() == {"ann": 30}
    assert len(api.post(STATE).json["turns"]) == 2


def test_the_message_precedes_the_change_and_does_nothing_without_it(api: Api, agent_id: str) -> None:
    write(api)
    before = moto_tables.items()["cams-conversations"]
    assert api.patch("/v3/workspace", {"workspace": {"name": "New"}}).status == 200
    assert task_messages(ApplyRetention) == []
    headers = {**api._headers, "Content-Type": "application/json", "If-Match": '"another"'}
    assert api.call("PATCH", "/v3/workspace", {"workspace": {"retentionDays": 1}}, headers).status == 412
    maintain([*task_messages(ApplyRetention), as_record(pack(ApplyRetention("unknown")))])
    assert moto_tables.items()["cams-conversations"] == before


# ---- removal --------------------------------------------------------------------------------------


def fill_parts(api: Api) -> None:
    """Create a conversation with chunks and with separate items for received messages."""
    many = [message(f"{number} " + "x" * 300) for number in range(500)]
    assert api.post(STATE, {"turns": [{"from": "human", "messages": many}]}).status == 200
    kinds = {one["item"]["S"].partition("#")[0] for one in moto_tables.items()["cams-conversations"]}
    assert kinds == {CONVERSATION_ITEM, "turns", "received"}


def test_an_expired_conversation_is_deleted_with_its_parts_and_without_a_webhook(
    api: Api, agent_id: str, workspace: NewWorkspace, stream: pipeline.Stream
) -> None:
    fill_parts(api)
    write(api, "bo")
    records = expire(stream, "ann")
    assert pipeline.events_of(records) == []
    follow("conversations", records)
    assert len(task_messages(RecountQuarter)) == 1
    taken = task_messages(ClearLeftovers)
    assert [one["body"] for one in taken] == [pack(ClearLeftovers(f"{workspace.workspace_id}#support#ann"))]
    maintain(taken)
    maintain(taken)
    assert set(heads()) == {"bo"}
    assert len(moto_tables.items()["cams-conversations"]) == 1


def test_what_a_deletion_by_a_caller_leaves_is_deleted_when_no_request_can_add_to_it(
    api: Api, agent_id: str, stream: pipeline.Stream
) -> None:
    fill_parts(api)
    assert api.delete("/v3/agents/support/convos/ann").status == 200
    assert parts_of("ann") == {"received"}
    follow("conversations", stream.read("conversations"))
    assert all(one.delayed for one in sqs_backends["123456789012"]["eu-west-1"].queues["cams-maintenance"]._messages)
    maintain(task_messages(ClearLeftovers))
    assert parts_of("ann") == set()


def test_the_parts_of_a_new_conversation_with_the_id_stay(
    api: Api, agent_id: str, stream: pipeline.Stream, pass_time: PassTime
) -> None:
    fill_parts(api)
    pass_time(DAY)
    records = expire(stream, "ann")
    left_over = {one["item"]["S"] for one in moto_tables.items()["cams-conversations"] if "turns#" in one["item"]["S"]}
    many = [message(f"new {number} " + "y" * 300) for number in range(300)]
    assert api.post(STATE, {"turns": [{"from": "human", "messages": many}]}).status == 200
    before = api.post(STATE).json
    follow("conversations", records)
    maintain(task_messages(ClearLeftovers))
    assert api.post(STATE).json == before
    chunks = {one["item"]["S"] for one in moto_tables.items()["cams-conversations"] if "turns#" in one["item"]["S"]}
    assert chunks < left_over


def parts_of(name: str) -> set[str]:
    """Return the sort-key prefixes of a conversation's parts."""
    found = [one for one in moto_tables.items()["cams-conversations"] if one["conversation"]["S"].endswith(f"#{name}")]
    return {one["item"]["S"].partition("#")[0] for one in found} - {CONVERSATION_ITEM}


@pytest.fixture
def index(api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create a conversation with small chunks, and index its messages."""
    monkeypatch.setattr(turns, "_CHUNK_BYTES", 600)
    monkeypatch.setattr(turns, "_TAIL_BYTES", 100)
    write(api, "ann", *(f"{number} {'x' * 300}" for number in range(10)))
    assert api.post("/agents/support/interact/ann/messages", {"messages": [message("more")]}).status == 200
    assert parts_of("ann") == {"turns", "mid"}


def test_the_index_of_messages_expires_with_its_conversation(index: None, stream: pipeline.Stream) -> None:
    follow("conversations", expire(stream, "ann"))
    maintain(task_messages(ClearLeftovers))
    assert moto_tables.items()["cams-conversations"] == []


def test_a_message_that_is_being_added_to_a_new_conversation_keeps_its_index(
    api: Api, index: None, workspace: NewWorkspace, stream: pipeline.Stream, pass_time: PassTime
) -> None:
    """Index items are written before the commit that adds the chunk to the conversation."""
    pass_time(DAY)
    follow("conversations", expire(stream, "ann"))
    write(api)
    own = MessageIndexRow(storage.join_key(workspace.workspace_id, "support", "ann"), "mid#new", writing=ids.new_id())
    own.start, own.length = 1, 2
    storage.save_many([own])
    maintain(task_messages(ClearLeftovers))
    assert [one["item"]["S"] for one in moto_tables.items()["cams-conversations"] if "mid#" in one["item"]["S"]] == [
        "mid#new"
    ]


def test_the_parts_of_an_expired_conversation_go_when_another_one_replaces_it(
    api: Api, index: None, stream: pipeline.Stream, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr(conversations, "_MAX_RECEIVED", 10)  # new messages get a separate item
        api.post("/agents/support/interact/ann/messages", {"messages": [message("last", **{"from": "human"})]})
    assert parts_of("ann") == {"turns", "mid", "received"}
    set_days(api, 1, pass_time)
    pass_time(DAY)
    write(api)
    clear_deleted(stream)
    assert parts_of("ann") == set()
