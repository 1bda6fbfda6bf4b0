"""The routes of conversations: creation, the state route, and their stored items (§4.1, §4.3)."""

import copy
import json
import os
from collections.abc import Callable
from itertools import count
from typing import Any

import pytest

from chalicelib import clock, storage
from chalicelib.conversations import received, store
from chalicelib.conversations import turns as turns_
from chalicelib.conversations.state import LIMIT, State
from chalicelib.http import messages
from chalicelib.storage import encode_json
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.capacity import metered
from tests.selection import one_of_each

STATE = "/agents/support/interact/user-1/state"


def message(mid: str, sender: str = "human", **rest: Any) -> dict[str, Any]:
    return {"mid": mid, "from": sender, "type": "text", "item": {"payload": {"message": "hello"}}, **rest}


def turns(*messages: dict[str, Any], sender: str = "human") -> list[dict[str, Any]]:
    return [{"from": sender, "messages": list(messages)}]


def mids(answer: Answer, member: str = "turns") -> list[str]:
    return [turn["messages"]["mid"] for turn in answer.json[member]]


def stored(workspace: NewWorkspace, conversation_id: str = "user-1") -> Any:
    row: Any = storage.find(*store.key(workspace.workspace_id, "support", conversation_id)[:3])
    return row and store.read_state(row)


def items(table: str = "cams-conversations") -> list[dict[str, Any]]:
    pages = storage.sdk_client("dynamodb").get_paginator("scan").paginate(TableName=table)
    found: list[dict[str, Any]] = [item for page in pages for item in page["Items"]]
    return sorted(found, key=lambda item: sorted(map(str, item.items())))


@pytest.fixture(autouse=True)
def agent(agent_id: str) -> None:
    """The agent `support`, for every test of this module."""


# ---- creation -------------------------------------------------------------------------------------


def test_creating_a_conversation_returns_its_id_title_and_time(api: Api) -> None:
    created = api.post(
        "/v3/agents/support/convos", {"conversation": {"title": "First", "ts": 12, "userID": "ann"}}
    ).data
    assert set(created) == {"id", "title", "createdAt"}
    assert created["title"] == "First"
    assert created["createdAt"].endswith("Z")


def test_a_created_conversation_is_in_the_list_with_its_members(api: Api) -> None:
    given = {"ts": 12, "messagesNum": 3, "title": "First", "userID": "ann"}
    created = api.post("/v3/agents/support/convos", {"conversation": given}).data
    (listed,) = api.get("/v2/agents/support/convos").data
    assert (listed["ID"], listed["userID"], listed["ts"], listed["messagesNum"]) == (created["id"], "ann", 12, 3)
    assert "title" not in listed


def test_all_members_of_a_new_conversation_are_optional(api: Api) -> None:
    created = api.post("/v3/agents/support/convos", {"conversation": {}}).data
    assert api.get("/v2/agents/support/convos").data[0]["userID"] == created["id"]


def test_a_conversation_of_an_unknown_agent_is_not_created(api: Api) -> None:
    before = items()
    assert api.post("/v3/agents/unknown/convos", {"conversation": {}}).status == 404
    assert items() == before


def test_the_state_route_accepts_the_id_of_a_created_conversation(api: Api) -> None:
    created = api.post("/v3/agents/support/convos", {"conversation": {"title": "First"}}).data
    answer = api.post(f"/agents/support/interact/{created['id']}/state", {"turns": turns(message("a"))})
    assert mids(answer) == ["a"]
    assert len(api.get("/v2/agents/support/convos").data) == 1


# ---- the state route ------------------------------------------------------------------------------


def test_the_answer_has_exactly_the_documented_members(api: Api) -> None:
    answer = api.post(STATE, {"turns": turns(message("a")), "metadata": {"origin": "web-chat"}})
    assert set(answer.json) == {
        "platformName", "success", "message", "chatState", "actionMessages", "turns", "agentData",
        "origin", "userID", "agentID", "oldTurns",
    }  # fmt: skip
    assert (answer.json["platformName"], answer.json["success"]) == ("vg", True)
    assert (answer.json["userID"], answer.json["agentID"], answer.json["origin"]) == ("user-1", "support", "web-chat")
    assert answer.json["agentData"] == api.get("/v2/agents/support").json


@pytest.mark.parametrize("body", [None, {}], ids=["no body", "no member"])
def test_without_a_member_the_route_only_reads(body: Any, api: Api) -> None:
    before = items()
    answer = api.post(STATE, body)
    assert (answer.status, answer.json["turns"], answer.json["oldTurns"]) == (200, [], [])
    assert items() == before


def test_written_turns_are_stored_and_read_back(api: Api, workspace: NewWorkspace) -> None:
    written = api.post(STATE, {"turns": turns(message("a", ts=1), message("b", "bot", ts=2))})
    assert api.post(STATE).json["turns"] == written.json["turns"]
    assert json.loads(stored(workspace).turns) == written.json["turns"]


def test_old_turns_are_the_turns_before_the_change(api: Api) -> None:
    api.post(STATE, {"turns": turns(message("a"))})
    answer = api.post(STATE, {"turns": turns(message("b"))})
    assert (mids(answer, "oldTurns"), mids(answer)) == (["a"], ["b"])


def test_one_request_deletes_messages_and_merges_metadata(api: Api, workspace: NewWorkspace) -> None:
    api.post(STATE, {"turns": turns(message("a"), message("b"))})
    answer = api.post(STATE, {"delete": {"mids": ["a"]}, "metadata": {"userName": "Ann"}})
    assert mids(answer) == ["b"]
    assert (answer.json["chatState"]["userName"], answer.json["chatState"]["messagesNum"]) == ("Ann", 1)
    assert stored(workspace).metadata["userName"] == "Ann"


def test_a_change_that_changes_nothing_writes_nothing(api: Api) -> None:
    api.post(STATE, {"turns": turns(message("a")), "metadata": {"userName": "Ann"}})
    before = items()
    api.post(STATE, {"metadata": {"userName": "Ann"}, "delete": {"mids": ["unknown"]}})
    assert items() == before


def test_an_unknown_agent_is_404_in_the_interaction_shape(api: Api) -> None:
    answer = api.post("/agents/unknown/interact/user-1/state", {"turns": []})
    assert (answer.status, answer.json["success"], answer.json["code"]) == (404, False, "NOT_FOUND")
    assert answer.json["appError"] == answer.json["message"]


@pytest.mark.promise("limits")
def test_a_limit_answers_429_and_writes_nothing(api: Api) -> None:
    api.patch("/v3/agents/support", {"agent": {"limits": {"maxInteractionsPerUserId": 1}}})
    api.post(STATE, {"turns": turns(message("a"))})
    before = items()
    answer = api.post(STATE, {"turns": turns(message("a"), message("b"))})
    assert (answer.status, answer.json["code"], answer.json["platformName"]) == (429, "LIMIT_REACHED", "vg")
    assert items() == before


def test_two_workspaces_may_have_conversations_with_the_same_id(api: Api, other_workspace: NewWorkspace) -> None:
    other = Api(other_workspace.workspace_key)
    other.post("/v2/agents/support", {})
    api.post(STATE, {"turns": turns(message("ours"))})
    assert other.post(STATE).json["turns"] == []


def test_any_members_of_a_turn_are_kept(api: Api) -> None:
    item = {"": None, "deep": [[[{"x": 1e300}]]], "😀": "é\u2028", "big": 10**30, "three": 3, "half": 3.5}
    written = api.post(STATE, {"turns": turns(message("a", item=item, own=[1, {}]))})
    (turn,) = api.post(STATE).json["turns"]
    assert turn == written.json["turns"][0]
    assert (turn["messages"]["item"], turn["messages"]["own"]) == (item, [1, {}])
    assert '"three":3,"half":3.5' in written.text


# ---- concurrent writers ---------------------------------------------------------------------------


def interrupted(monkeypatch: pytest.MonkeyPatch, times: int, write: Any) -> None:
    """Call `write`, a concurrent writer, between the read and the save of the first `times` attempts."""
    real, left = store.save, [times]

    def save(*arguments: Any) -> None:
        if left[0]:
            left[0] -= 1
            monkeypatch.setattr(store, "save", real)
            write()
            monkeypatch.setattr(store, "save", save)
        real(*arguments)

    monkeypatch.setattr(store, "save", save)


@pytest.mark.parametrize(
    "change", [{"metadata": {"userName": "Ann"}}, {"delete": {"mids": ["a"]}}], ids=["metadata", "delete"]
)
def test_a_merge_is_applied_to_the_version_of_a_concurrent_writer(
    change: Any, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.post(STATE, {"turns": turns(message("a"), message("b"))})
    interrupted(monkeypatch, 3, lambda: api.post(STATE, {"metadata": {"userPhone": os.urandom(4).hex()}}))
    assert api.post(STATE, change).status == 200
    after = api.post(STATE).json
    assert "userPhone" in after["chatState"]
    assert after["chatState"].get("userName") == change.get("metadata", {}).get("userName")


def test_two_concurrent_replacements_of_turns_conflict(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.post(STATE, {"turns": turns(message("a"))})
    interrupted(monkeypatch, 1, lambda: api.post(STATE, {"turns": turns(message("theirs"))}))
    answer = api.post(STATE, {"turns": turns(message("ours"))})
    assert (answer.status, answer.json["code"]) == (409, "STALE")
    assert mids(api.post(STATE)) == ["theirs"]


@pytest.mark.parametrize("condition", [{"If-Match": "*"}, {"If-None-Match": '"other"'}], ids=["any", "all but one"])
def test_a_precondition_without_a_version_does_not_undo_a_concurrent_write(
    condition: dict[str, str], api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.post(STATE, {"turns": turns(message("a"))})
    interrupted(monkeypatch, 1, lambda: api.post(STATE, {"turns": turns(message("theirs"))}))
    headers = {**api._headers, "Content-Type": "application/json", **condition}
    answer = api.call("POST", STATE, {"turns": turns(message("ours"))}, headers)
    assert answer.status == 409
    assert mids(api.post(STATE)) == ["theirs"]


@pytest.mark.parametrize("change", [{"metadata": {"userName": "Ann"}}, {"turns": turns(message("ours"))}], ids=str)
@pytest.mark.parametrize("before", [10, 300_000], ids=["short", "long"])
@one_of_each(lambda: None)
def test_a_recreated_conversation_is_not_mistaken_for_the_deleted_one(
    before: int, change: Any, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.post(STATE, {"turns": turns(message("old", text=os.urandom(before).hex()))})

    def recreate() -> None:
        assert api.delete("/v3/agents/support/convos/user-1").status == 200
        assert api.post(STATE, {"turns": turns(message("new"))}).status == 200

    interrupted(monkeypatch, 1, recreate)
    assert api.post(STATE, change).status == (409 if "turns" in change else 200)
    read = api.post(STATE)
    assert (mids(read), read.json["chatState"].get("userName")) == (["new"], change.get("metadata", {}).get("userName"))
    (listed,) = api.get("/v2/agents/support/convos").data
    assert (listed["ID"], len(items())) == ("user-1", 1)


def test_a_merge_gives_up_after_ten_attempts(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "sleep", lambda _: None)
    api.post(STATE, {"turns": turns(message("a"))})
    interrupted(monkeypatch, 99, lambda: api.post(STATE, {"metadata": {"userPhone": os.urandom(4).hex()}}))
    assert api.post(STATE, {"metadata": {"userName": "Ann"}}).status == 409


# ---- long conversations ---------------------------------------------------------------------------


def long_turns(size: int, seed: str = "") -> list[dict[str, Any]]:
    """Return turns of exactly `size` bytes of JSON, most of it incompressible."""
    sent = turns(*(message(f"{seed}{number}", text=os.urandom(400).hex()) for number in range(size // 1000)))
    sent[0]["messages"][0]["fill"] = ""
    sent[0]["messages"][0]["fill"] = "x" * (size - len(encode_json(sent)))
    assert len(encode_json(sent)) == size
    return sent


def sent_back(read: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Convert turns of an answer to turns of a request."""
    return [{**turn, "messages": [turn["messages"]]} for turn in read]


def chunk_items() -> list[dict[str, Any]]:
    return [item for item in items() if item["item"]["S"].startswith("turns#")]


def test_two_mebibytes_are_stored_replaced_and_read_back(api: Api) -> None:
    for seed in ("a", "b"):
        sent = long_turns(LIMIT, seed)
        assert api.post(STATE, {"turns": sent}).status == 200
        read = api.post(STATE)
        assert [turn["messages"] for turn in read.json["turns"]] == sent[0]["messages"]
        assert messages.fits(read.text)


def test_one_byte_more_is_too_large_and_nothing_is_written(api: Api) -> None:
    api.post(STATE, {"turns": turns(message("a"))})
    before = items()
    answer = api.post(STATE, {"turns": long_turns(LIMIT + 1)})
    assert (answer.status, answer.json["code"]) == (413, "TOO_LARGE")
    assert items() == before


def test_every_item_of_a_long_conversation_is_below_the_item_limit(api: Api) -> None:
    api.post(STATE, {"turns": long_turns(LIMIT)})
    assert len(chunk_items()) > 2
    assert max(len(item["part"]["B"]) for item in chunk_items()) < 400_000


def test_a_conversation_that_becomes_short_has_no_chunks(api: Api) -> None:
    api.post(STATE, {"turns": long_turns(LIMIT)})
    api.post(STATE, {"turns": turns(message("a"))})
    assert chunk_items() == []
    assert mids(api.post(STATE)) == ["a"]


def test_a_long_conversation_that_becomes_shorter_has_fewer_chunks(api: Api) -> None:
    api.post(STATE, {"turns": long_turns(LIMIT)})
    before = len(chunk_items())
    sent = long_turns(LIMIT // 4, "b")
    api.post(STATE, {"turns": sent})
    assert len(chunk_items()) < before
    assert mids(api.post(STATE)) == [one["mid"] for one in sent[0]["messages"]]


def test_appending_to_a_long_conversation_writes_only_its_own_item(api: Api) -> None:
    sent = long_turns(LIMIT // 2)
    read = api.post(STATE, {"turns": sent}).json["turns"]
    before = chunk_items()
    assert len(before) > 10
    with metered() as meter:
        grown = api.post(STATE, {"turns": [*sent_back(read), *turns(message("new"))]})
    assert meter.requests == {"BatchGetItem": 1, "PutItem": 1}
    assert meter.reads < 20
    assert meter.writes < 40
    assert chunk_items() == before
    assert grown.json["oldTurns"] == read
    assert mids(api.post(STATE)) == [*(turn["messages"]["mid"] for turn in read), "new"]


def test_a_change_in_the_middle_of_a_long_conversation_rewrites_only_the_later_chunks(api: Api) -> None:
    read = api.post(STATE, {"turns": long_turns(LIMIT // 2)}).json["turns"]
    before = chunk_items()
    gone = read.pop(len(read) // 2)["messages"]["mid"]
    assert mids(api.post(STATE, {"delete": {"mids": [gone]}})) == [turn["messages"]["mid"] for turn in read]
    kept = [item for item in chunk_items() if item in before]
    assert abs(len(kept) - len(before) // 2) < 3
    assert mids(api.post(STATE)) == [turn["messages"]["mid"] for turn in read]


@pytest.mark.parametrize("step", [25_000, 200_000, 2_000_000])
@one_of_each(lambda: None)
def test_a_growing_conversation_never_has_more_items_than_a_transaction(workspace: NewWorkspace, step: int) -> None:
    """Its deletion is one transaction of up to 100 items. 2 MiB of turns may be 5.5 MB in their stored form."""
    row = store.ConversationRow(storage.key(workspace.workspace_id, "support", "user-1"))
    text = os.urandom(3_000_000).hex().encode()
    for end in range(step, len(text) + 1, step):
        with storage.unit_of_work() as unit:
            turns_.stage(row, text[: end - step], State({}, text[:end]))
            unit.discard()
        assert len(turns_.chunks(row)) < 75
        assert end - sum(chunk.length for chunk in turns_.chunks(row)) > 8_000  # room to rewrite the last turns
        assert len(row.turns) < 300_000


def test_a_chunk_may_end_within_a_character(api: Api) -> None:
    sent = turns(message("a"), message("b", text="x" + "".join(map(chr, range(0x10000, 0x10000 + 40_000)))))
    api.post(STATE, {"turns": sent})
    assert chunk_items()
    assert api.post(STATE).json["turns"][1]["messages"] == sent[0]["messages"][1]


def test_merging_metadata_of_a_long_conversation_does_not_rewrite_its_turns(api: Api) -> None:
    api.post(STATE, {"turns": long_turns(LIMIT // 2)})
    before = chunk_items()
    api.post(STATE, {"metadata": {"userName": "Ann"}})
    assert chunk_items() == before
    assert api.post(STATE).json["chatState"]["userName"] == "Ann"


find_many = storage.find_many


def eventual_reads(monkeypatch: pytest.MonkeyPatch, read: Callable[[Any], Any]) -> None:
    """Replace eventually consistent batch reads of chunks with `read`."""

    def replaced(keys: Any) -> Any:
        is_eventual = any(key.row is store.ChunkRow and not key.consistent for key in keys)
        return read(keys) if is_eventual else find_many(keys)

    monkeypatch.setattr(storage, "find_many", replaced)


def test_a_reader_never_combines_chunks_of_two_writes(
    api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.post(STATE, {"turns": long_turns(LIMIT // 2, "a")})
    others = iter([long_turns(LIMIT // 2 - 100_000, "b")])

    def write_first(keys: Any) -> Any:
        for other in others:
            api.post(STATE, {"turns": other})
        return find_many(keys)

    eventual_reads(monkeypatch, write_first)
    read = api.post(STATE)
    assert read.status == 200
    assert {mid[0] for mid in mids(read)} == {"b"}
    assert read.json["chatState"]["messagesNum"] == len(mids(read))


def test_a_stale_chunk_is_read_again_with_strong_consistency(
    api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An eventually consistent read may miss the last write, of a new chunk and of a replaced one."""
    seen = []

    def stale_read(keys: Any) -> Any:
        seen.append(len(keys))
        return [stale.get(key.sort) for key in keys]

    api.post(STATE, {"turns": long_turns(LIMIT // 4, "a")})
    row = storage.find(*store.key(workspace.workspace_id, "support", "user-1")[:3])
    stale = {
        one.item: one
        for one in find_many(
            [storage.Key(store.ChunkRow, one.conversation, one.item) for one in turns_.chunk_rows(row)]
        )
    }
    sent = api.post(STATE, {"turns": long_turns(LIMIT // 2, "b")}).json["turns"]
    eventual_reads(monkeypatch, stale_read)
    assert len(stale) < len(chunk_items())
    with metered() as meter:
        assert api.post(STATE).json["turns"] == sent
    assert seen == [len(chunk_items())]
    assert meter.requests == {"BatchGetItem": 2}


def test_a_replacement_reads_only_the_chunks_that_it_changes(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    read = api.post(STATE, {"turns": long_turns(LIMIT // 2)}).json["turns"]
    asked: list[int] = []
    eventual_reads(monkeypatch, lambda keys: asked.append(len(keys)) or find_many(keys))
    middle = len(read) // 2
    other = read[middle]["messages"]["item"]["payload"]["message"]
    sent = copy.deepcopy(sent_back(read))
    sent[middle]["messages"][0]["item"]["payload"]["message"] = "y" * len(other)
    assert api.post(STATE, {"turns": sent}).json["oldTurns"] == read
    assert asked in ([1], [2])


def test_old_turns_are_omitted_if_the_answer_would_be_too_large(api: Api) -> None:
    quotes = turns(message("a", text='"' * (LIMIT // 2 - 1000)))
    api.post(STATE, {"turns": quotes})
    answer = api.post(STATE, {"turns": turns(message("b", text='"' * (LIMIT // 2 - 1000)))})
    assert answer.status == 200
    assert "oldTurns" not in answer.json
    assert len(json.dumps(answer.text)) < messages.RESPONSE_LIMIT


def test_a_state_too_large_for_an_answer_is_refused_and_not_stored(api: Api) -> None:
    before = items()
    many = turns(*({} for _ in range(200_000)))
    assert len(encode_json(many)) < LIMIT
    assert api.post(STATE, {"turns": many}).status == 413
    assert items() == before


def test_metadata_too_large_for_a_page_of_the_list_is_refused(api: Api) -> None:
    before = items()
    answer = api.post(STATE, {"metadata": {"userName": os.urandom(40_000).hex()}})
    assert answer.status == 413
    assert items() == before


# ---- regressions -------------------------------------------------------------------------


def test_an_equal_message_can_be_appended_to_the_turns_of_an_answer(api: Api) -> None:
    yes = {"from": "human", "type": "text", "item": {"text": "yes"}}
    read = api.post(STATE, {"turns": turns(yes)}).json["turns"]
    appended = [{"messages": [turn["messages"]]} for turn in read] + turns(yes)
    answer = api.post(STATE, {"turns": appended})
    assert (answer.status, len(set(mids(answer)))) == (200, 2)


def test_a_small_request_cannot_produce_a_huge_answer(api: Api) -> None:
    before = items()
    answer = api.post(STATE, {"turns": [{"note": "x" * 500_000, "messages": [{}] * 300}]})
    assert answer.status == 413
    assert items() == before


def test_deleting_messages_of_an_unknown_conversation_does_not_create_it(api: Api) -> None:
    before = items()
    assert api.post(STATE, {"delete": {"mids": ["a"]}}).status == 200
    assert items() == before


@pytest.mark.promise("limits")
def test_the_initial_message_count_of_a_new_conversation_does_not_lift_a_limit(api: Api) -> None:
    api.patch("/v3/agents/support", {"agent": {"messagesLimit": 2}})
    created = api.post("/v3/agents/support/convos", {"conversation": {"messagesNum": 1000}}).data["id"]
    three = turns(message("a"), message("b"), message("c"))
    assert api.post(f"/agents/support/interact/{created}/state", {"turns": three}).status == 429


def test_a_stored_state_can_be_read_after_its_agent_has_grown(api: Api) -> None:
    many = turns(*({"from": "bot", "item": {"t": "é" * 15}, "ts": number} for number in range(25_000)))
    assert "agentData" in api.post(STATE, {"turns": many}).json
    for name in ("branding", "lang"):
        assert api.post("/v2/agents/support", {name: '"' * 240_000}).status == 200
    answer = api.post(STATE)
    assert (answer.status, len(answer.json["turns"])) == (200, 25_000)
    assert "agentData" not in answer.json


def test_compressible_metadata_is_limited_by_its_json(api: Api) -> None:
    assert api.post(STATE, {"metadata": {"userName": "a" * 70_000}}).status == 413


def test_any_number_of_new_messages_fits_the_transaction(api: Api) -> None:
    """A quote takes two bytes in the JSON of a message, and a long message is a part of its own."""
    noise = (os.urandom(600).hex() for _ in count())
    sent = turns(*(message(f"m{number}", item={"x": next(noise) + '"' * 12_300}) for number in range(80)))
    assert api.post(STATE, {"turns": sent}).status == 200
    short = [{"note": "n" * 900, "from": "bot", "messages": [{"mid": f"{number:x}"} for number in range(5_500)]}]
    assert api.post(STATE, {"turns": short}).status == 200
    long = turns(*(message(f"l{number}", item={"text": os.urandom(25_000).hex()}) for number in range(41)))
    assert api.post(STATE, {"turns": long}).status == 200


def test_only_the_last_removed_messages_are_remembered(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(received, "_MAX_DIGESTS", 20)
    brought: list[list[str]] = []
    stage = store._stage_received

    def recording(row: Any, state: Any, name: Any) -> None:
        brought.append([one["mid"] for one in state.received])
        stage(row, state, name)

    monkeypatch.setattr(store, "_stage_received", recording)

    def send(*numbers: int) -> None:
        api.post(STATE, {"turns": turns(*(message(str(number)) for number in numbers))})

    send(*range(25))
    send(*range(25), 25)
    send(26)
    send(*range(27))
    # Of the 26 messages that were removed, the first six are forgotten. A stored message is never new.
    assert brought == [[str(number) for number in range(25)], ["25"], ["26"], [str(number) for number in range(6)]]


@pytest.mark.promise("limits")
@pytest.mark.parametrize(
    ("limit", "sender"),
    [({"limits": {"maxInteractionsPerUserId": 2}}, "human"), ({"messagesLimit": 2}, "bot")],
    ids=["maxInteractionsPerUserId", "messagesLimit"],
)
def test_a_limit_counts_the_messages_that_a_later_write_replaced(api: Api, limit: Any, sender: str) -> None:
    """Each write sends only the newest message."""
    api.patch("/v3/agents/support", {"agent": limit})
    statuses = []
    for number in range(50):
        sent = {"turns": turns({**message(f"m{number}"), "from": sender})}
        before = items()
        statuses.append(api.post(STATE, sent).status)
        assert statuses[-1] == 200 or items() == before
    assert statuses == [200] * 2 + [429] * 48


@pytest.mark.promise("limits")
@pytest.mark.parametrize("prefix", ["human ", "u", "o"])
def test_no_id_of_a_bot_s_message_hides_a_message_of_the_user(api: Api, prefix: str) -> None:
    api.patch("/v3/agents/support", {"agent": {"limits": {"maxInteractionsPerUserId": 1}}})
    bots = [{**message(f"{prefix}{number}"), "from": "bot"} for number in range(5)]
    assert api.post(STATE, {"turns": turns(*bots)}).status == 200
    assert api.post(STATE, {"turns": []}).status == 200
    statuses = [api.post(STATE, {"turns": turns(message(str(number)))}).status for number in range(5)]
    assert statuses == [200] + [429] * 4


@pytest.mark.promise("limits")
def test_a_limit_counts_a_message_once(api: Api) -> None:
    """Whether it is deleted, sent again, or replaced under its id."""
    api.patch("/v3/agents/support", {"agent": {"messagesLimit": 3, "limits": {"maxInteractionsPerUserId": 2}}})
    human, bot = message("a"), {**message("b"), "from": "bot"}

    def send(*messages: Any, **change: Any) -> int:
        return api.post(STATE, {"turns": turns(*messages), **change}).status

    assert send(human, bot) == 200
    assert api.post(STATE, {"delete": {"mids": ["a"]}}).status == 200
    assert (
        send(human, bot) == send() == send(bot) == send(human) == send(human, {**bot, "item": {"text": "new"}}) == 200
    )
    # A bot's message that becomes the user's is an interaction, but no other message.
    assert send(human, {**bot, "from": "human"}) == 200
    assert send(human, bot, {**message("c"), "from": "human"}) == 429
    assert send(human, bot, {**message("c"), "from": "human"}, delete={"mids": ["c"]}) == 200
    assert send(human, bot, {**message("c"), "from": "bot"}) == 200
    assert send({**message("d"), "from": "bot"}) == 429
    assert api.post(STATE, {"metadata": {"userName": "Ann"}}).status == 200
