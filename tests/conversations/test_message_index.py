"""The message index finds repeated messages in every order of reads and writes. It is deleted with the conversation."""

from collections.abc import Callable
from typing import Any

import pytest

from chalicelib import storage
from chalicelib.conversations import leftovers, store, transcript
from chalicelib.conversations.rows import MessageIndexRow
from chalicelib.conversations.transcript import message_index, turns
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.conversations.test_retention import clear_deleted
from tests.engine_requests import counted, refuse_operation
from tests.webhooks import pipeline
from tests.webhooks.conftest import stream as stream

STATE = "/agents/support/interact/ann/state"
MESSAGES = "/agents/support/interact/ann/messages"
V3 = "/v3/agents/support/convos/ann"
BATCH, PUT, TRANSACT, WRITES = "BatchGetItem", "PutItem", "TransactWriteItems", "BatchWriteItem"


@pytest.fixture(autouse=True)
def small_chunks(agent_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit chunks to 600 bytes, which is about six messages."""
    monkeypatch.setattr(turns, "_CHUNK_BYTES", 600)
    monkeypatch.setattr(turns, "_TAIL_BYTES", 100)


def message(number: int, text: str = "Hello") -> dict[str, Any]:
    return {"mid": f"m{number}", "from": "human", "item": {"text": text}}


def add(api: Api, *numbers: int) -> Any:
    answer = api.post(MESSAGES, {"messages": [message(number) for number in numbers]})
    assert answer.status == 200, answer.text
    return answer.data


def mids(api: Api) -> list[str]:
    return [turn["messages"]["mid"] for turn in api.post(STATE).json["turns"]]


def names(count: int) -> list[str]:
    return [f"m{number}" for number in range(count)]


def row_of(workspace: NewWorkspace) -> Any:
    return storage.find(*store.key(workspace.workspace_id, "support", "ann")[:3])


def index_items(workspace: NewWorkspace) -> list[Any]:
    key = storage.join_key(workspace.workspace_id, "support", "ann")
    return storage.query(MessageIndexRow, key, MessageIndexRow.item.startswith("mid#"))


def grow(api: Api, count: int) -> None:
    for number in range(count):
        add(api, number)


def test_an_append_to_a_long_conversation_takes_two_requests(api: Api, pass_time: Callable[[int], None]) -> None:
    grow(api, 36)
    pass_time(100)
    api.get("/v2/clients")
    with counted() as requests:
        add(api, 36)
    assert requests == {BATCH: 1, PUT: 1}
    with counted() as requests:
        (answered,) = add(api, 0)
    assert requests == {BATCH: 2}
    assert answered["mid"] == "m0"
    assert mids(api) == names(37)


def test_a_repeat_whose_index_item_was_read_too_early_is_found(
    api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another append moves the message into a chunk between the reads of the index item and of the conversation."""
    grow(api, 4)
    real, left = storage.find_many, [1]

    def find_many(keys: Any) -> Any:
        rows = real(keys)
        if left and any(key.row is MessageIndexRow for key in keys):
            left.pop()
            grow(api, 30)
            rows = [
                real([key])[0] if key.row is not MessageIndexRow else row for key, row in zip(keys, rows, strict=True)
            ]
        return rows

    monkeypatch.setattr(storage, "find_many", find_many)
    add(api, 0)
    assert not left
    assert row_of(workspace).indexed
    assert mids(api) == names(30)


def test_an_index_item_of_a_write_that_failed_is_not_relied_on(
    api: Api, workspace: NewWorkspace, pass_time: Callable[[int], None]
) -> None:
    grow(api, 20)
    pass_time(100)
    (place, *_) = index_items(workspace)
    place.writing = "of a write that failed"
    storage.save_many([place])
    for number in range(20):
        add(api, number)
    assert mids(api) == names(20)


def test_a_crash_between_the_index_and_the_commit_changes_nothing(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    grow(api, 3)
    real = transcript.extend_index

    def extend(*arguments: Any) -> None:
        real(*arguments)
        raise RuntimeError

    for number in range(3, 12):
        with monkeypatch.context() as patch:
            patch.setattr(transcript, "extend_index", extend)
            assert api.post(MESSAGES, {"messages": [message(number)]}).status == 500
        assert mids(api) == names(number)
        add(api, number)
        add(api, number)
    assert mids(api) == names(12)


def test_a_deleted_message_is_stored_again_at_the_end(api: Api, pass_time: Callable[[int], None]) -> None:
    grow(api, 20)
    pass_time(100)
    assert api.delete(f"{V3}/messages/m2").status == 200
    add(api, 2, 3)
    add(api, 2)
    assert mids(api) == [name for name in names(20) if name != "m2"] + ["m2"]


# ---- deletion -------------------------------------------------------------------------------------


def delete(api: Api, tag: str | None = None) -> int:
    given = {} if tag is None else {"If-Match": tag}
    return api.call("DELETE", V3, None, {**api._headers, **given}).status


def test_deleting_a_conversation_deletes_its_index(api: Api, workspace: NewWorkspace, stream: pipeline.Stream) -> None:
    grow(api, 20)
    assert index_items(workspace)
    assert delete(api, api.post(STATE).headers["etag"]) == 200
    assert row_of(workspace) is None
    clear_deleted(stream)
    assert index_items(workspace) == []


def test_a_deletion_that_fails_is_repeated_with_the_same_tag(api: Api) -> None:
    grow(api, 20)
    tag = api.post(STATE).headers["etag"]
    with refuse_operation(TRANSACT, "ThrottlingException"):
        assert delete(api, tag) == 503
    assert mids(api) == names(20)
    assert delete(api, tag) == 200


def test_a_deletion_that_is_overtaken_leaves_a_conversation_that_still_knows_its_messages(
    api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch, pass_time: Callable[[int], None]
) -> None:
    """An append commits after a deletion with `If-Match` has read the conversation, but before the deletion commits."""
    grow(api, 20)
    real, tag = store.delete, api.post(STATE).headers["etag"]

    def overtaken(row: Any) -> None:
        monkeypatch.setattr(store, "delete", real)
        add(api, *range(20, 26))
        real(row)

    monkeypatch.setattr(store, "delete", overtaken)
    assert delete(api, tag) == 412
    add(api, 0, 7, 25)
    pass_time(100)
    add(api, 1, 8, 24)
    assert mids(api) == names(26)


@pytest.mark.parametrize("length", [pytest.param(20, id="with chunks"), pytest.param(3, id="without chunks")])
def test_an_append_that_a_deletion_overtakes_leaves_no_index(
    length: int, api: Api, workspace: NewWorkspace, stream: pipeline.Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The append writes its index items, and then its commit fails."""
    grow(api, length)
    real = transcript.extend_index

    def extend(*arguments: Any) -> None:
        real(*arguments)
        monkeypatch.setattr(transcript, "extend_index", real)
        assert delete(api) == 200

    monkeypatch.setattr(transcript, "extend_index", extend)
    more = {"messages": [message(number) for number in range(20, 40)]}
    assert api.post(f"{V3}/messages", more).status == 404
    assert index_items(workspace)
    clear_deleted(stream)
    assert index_items(workspace) == []


def test_the_cascade_and_the_state_route_leave_no_index(
    api: Api, workspace: NewWorkspace, stream: pipeline.Stream
) -> None:
    grow(api, 20)
    assert api.post(STATE, {"turns": []}).status == 200
    assert index_items(workspace)
    assert api.delete("/v3/agents/support").status == 200
    clear_deleted(stream)
    assert index_items(workspace) == []


def test_the_removal_of_a_conversation_spares_the_index_of_a_later_one_with_its_id(
    api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch, pass_time: Callable[[int], None]
) -> None:
    """A change replaces a chunk, but the index items for earlier messages still name the old chunk."""
    monkeypatch.setattr(message_index, "_MAX_ITEMS", 2)
    grow(api, 20)
    assert api.patch(f"{V3}/messages/m4", {"message": {"item": {"text": "Changed"}}}).status == 200
    pass_time(1_000)
    leftovers.clear(storage.join_key(workspace.workspace_id, "support", "ann"))
    add(api, *range(20))
    assert mids(api) == names(20)


# ---- expiry ---------------------------------------------------------------------------------------


def test_the_conversation_that_replaces_an_expired_one_deletes_its_index(
    api: Api, workspace: NewWorkspace, stream: pipeline.Stream, pass_time: Callable[[int], None]
) -> None:
    api.patch("/v3/agents/support", {"agent": {"retention": {"days": 1}}})
    grow(api, 20)
    pass_time(2 * 86_400)
    add(api, 1)
    clear_deleted(stream)
    assert (mids(api), index_items(workspace)) == (["m1"], [])


def test_the_removal_of_an_expired_conversation_spares_the_index_of_the_next_one(
    api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch, pass_time: Callable[[int], None]
) -> None:
    """The queue message arrives after the new index items are written, but before the commit."""
    grow(api, 20)
    real, key = transcript.extend_index, storage.join_key(workspace.workspace_id, "support", "ann")
    with storage.unit_of_work():
        storage.delete(row_of(workspace))
    pass_time(100)

    def extend(*arguments: Any) -> None:
        real(*arguments)
        leftovers.clear(key)

    monkeypatch.setattr(transcript, "extend_index", extend)
    for number in range(100, 120):
        pass_time(1)
        add(api, number)
    pass_time(100)
    before = mids(api)
    add(api, *range(100, 120))
    assert mids(api) == before == [f"m{number}" for number in range(100, 120)]
    assert len(index_items(workspace)) < 20
