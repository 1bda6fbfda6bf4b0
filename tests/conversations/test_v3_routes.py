"""The v3 operations on one conversation: create, read, change, assign, and read its messages."""

import json
import random
import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from chalicelib import storage
from chalicelib.conversations import store
from chalicelib.conversations.transcript import parser
from chalicelib.conversations.transcript import turns as turns_
from chalicelib.http.bodies import IGNORED
from chalicelib.workspaces.store import NewWorkspace
from tests.agents.records import without
from tests.api import Api
from tests.assertions import refused
from tests.capacity import metered
from tests.conftest import PassTime
from tests.engine_requests import counted
from tests.listed_pages import flatten, read_pages

CONVOS = "/v3/agents/support/convos"
STATE, CONVERSATION = "/agents/support/interact/ann/state", f"{CONVOS}/ann"
# Values for every writable member.
WRITABLE: dict[str, Any] = {
    "userID": "ann",
    "userName": "Ann",
    "userEmail": "ann@example.com",
    "userImage": "https://example.com/ann.png",
    "userPhone": "+49 170 1234567",
    "userBrowser": "Firefox",
    "userProfilePic": "https://example.com/small.png",
    "origin": "web-chat",
    "ts": 12,
    "tags": ["a", "b"],
    "convoTimeSeconds": 3.5,
    "userPlatform": "Linux",
    "state": "requested_chat",
    "chatAssignedTo": "client-1",
    "sessionsNum": 2,
    "title": "A question",
    "labels": {"project": "shop", "scope": "a:b"},
}
READ_ONLY = (
    *("ID", "interactionsNum", "firstMessageTS", "lastMessageTS", "lastModified", "agentId"),
    *("lastMessage", "lastMessageFrom", "lastMessageSender"),
)


@pytest.fixture(autouse=True)
def agent(agent_id: str) -> None:
    """Create the agent `support` for every test in this module."""


def turn(number: int, text: str = "Hello", **members: Any) -> dict[str, Any]:
    message = {"mid": f"m{number}", "type": "text", "item": {"text": text}}
    return {"from": ("human", "bot")[number % 2], "ts": 1_000 + number, "messages": [message], **members}


# ---- create and change ---------------------------------------------------------------------------


def test_a_conversation_is_created_with_all_its_metadata(api: Api, workspace: NewWorkspace) -> None:
    given = {**WRITABLE, "messagesNum": 5, **dict.fromkeys(READ_ONLY)}
    made = api.post(CONVOS, {"conversation": given})
    assert made.data.keys() == {"id", "title", "createdAt"}
    found = api.get(f"{CONVOS}/{made.data['id']}").data
    assert {name: found[name] for name in WRITABLE} == WRITABLE
    assert found["messagesNum"] == 5
    assert (found["ID"], found["agentId"], "lastMessage" in found) == (made.data["id"], "support", False)
    row: Any = storage.find(*store.key(workspace.workspace_id, "support", made.data["id"])[:3])
    assert row.waiting == workspace.workspace_id


def test_a_change_merges_replaces_tags_and_clears(api: Api, pass_time: PassTime) -> None:
    api.post(STATE, {"turns": [turn(0)], "metadata": {"userName": "Ann", "userPhone": "1", "tags": ["a", "b"]}})
    before = api.get(CONVERSATION)
    pass_time(7)
    change = {"conversation": {"title": "New", "tags": ["c"], "userPhone": None, **dict.fromkeys(READ_ONLY, None)}}
    after = api.patch(CONVERSATION, change)
    expected = {**without(before.data, "messages"), "title": "New", "tags": ["c"]}
    expected["lastModified"] += 7
    del expected["userPhone"]
    assert after.data == expected
    read = api.get(CONVERSATION)
    assert read.data == {**expected, "messages": before.data["messages"]}
    assert read.headers["etag"] == after.headers["etag"] != before.headers["etag"]
    with counted() as requests:
        again = api.patch(CONVERSATION, change)
    assert again.headers["etag"] == after.headers["etag"]
    assert requests == {"BatchGetItem": 1}


def test_a_change_of_a_long_conversation_reads_no_chunk_and_keeps_the_turns(api: Api) -> None:
    turns = [turn(number, random.Random(number).randbytes(2_000).hex()) for number in range(100)]
    api.post(STATE, {"turns": turns})
    before = api.post(STATE, {}).json["turns"]
    with counted() as requests:
        assert api.patch(CONVERSATION, {"conversation": {"title": "New"}}).status == 200
    assert requests == {"BatchGetItem": 1, "PutItem": 1}
    assert api.post(STATE, {}).json["turns"] == before


def test_unknown_conversations_and_agents_are_not_found(api: Api) -> None:
    for path in (f"{CONVOS}/unknown", "/v3/agents/unknown/convos/ann"):
        kind = "agent" if "unknown/" in path else "conversation"
        for answer in (
            api.get(path),
            api.get(f"{path}/messages"),
            api.patch(path, {"conversation": {}}),
            api.post(f"{path}/assign", {"assignToUserId": None}),
        ):
            assert refused(answer, 404) == f"There is no such {kind}."


# ---- assign --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sent", "assigned", "state"),
    [
        ({}, "bo", "human-chatting"),
        ({"state": None}, "bo", "human-chatting"),
        ({"state": "requested_chat"}, "bo", "requested_chat"),
        ({}, None, "ai-chatting"),
        ({"state": "ended_chat"}, None, "ended_chat"),
        ({"state": "anything"}, None, "anything"),
    ],
)
def test_an_assignment_sets_the_client_and_the_state(sent: Any, assigned: Any, state: str, api: Api) -> None:
    api.post("/v2/clients/bo", {"name": "Bo"})
    api.post(STATE, {"metadata": {"state": "requested_chat", "chatAssignedTo": "client-1", "userName": "Ann"}})
    answer = api.post(f"{CONVERSATION}/assign", {"assignToUserId": assigned, **sent})
    assert (answer.data.get("chatAssignedTo"), answer.data["state"]) == (assigned, state)
    assert answer.data["userName"] == "Ann"
    assert without(api.get(CONVERSATION).data, "messages") == answer.data
    assert answer.json.get("assignedUser") == ({"id": "bo", "name": "Bo"} if assigned else None)
    waiting = [one["ID"] for one in api.get("/v3/convos?inbox=true").data]
    assert waiting == (["ann"] if state in store.WAITING_STATES else [])


def test_an_assignment_says_who_assigned_and_names_the_client_only_to_readers_of_clients(api: Api) -> None:
    api.post("/v2/clients/bo", {"name": "Bo", "email": "bo@example.com"})
    api.post(STATE, {"metadata": {"userName": "Ann"}})
    body = {"assignToUserId": "bo", "delegatedBy": "ann"}
    for scopes, user in (
        (["conversations:write"], {"id": "bo"}),
        (["conversations:write", "clients:read"], {"id": "bo", "name": "Bo", "email": "bo@example.com"}),
    ):
        token = Api(api.post("/v3/tokens", {"token": {"name": "t", "scopes": scopes}}).data["token"])
        assert token.post(f"{CONVERSATION}/assign", body).json["assignedUser"] == user
    assert api.get(CONVERSATION).data["delegatedBy"] == "ann"
    assert "delegatedBy" not in api.post(f"{CONVERSATION}/assign", {"assignToUserId": None}).data


# ---- members -------------------------------------------------------------------------------------


def test_unknown_members_are_kept_hidden_from_scopes_and_rejected_on_request(api: Api) -> None:
    members = {"title": "x", "priority": {"level": 1.5}, "summary": "s", "messages": [], "retentionDays": 9}
    sent = {"conversation": members}
    created = api.post(CONVOS, sent)
    ignored = [f"conversation.{name}" for name in ("priority", "messages", "retentionDays")]
    assert [one["path"] for one in created.json["warnings"]] == ignored
    path = f"{CONVOS}/{created.data['id']}"
    record = api.get(path).data
    assert (record["priority"], record["summary"], record["messages"]) == ({"level": 1.5}, "s", [])
    assert "retentionDays" not in record
    scoped = Api(api.post("/v3/tokens", {"token": {"name": "t", "scopes": ["conversations:write"]}}).data["token"])
    assert "priority" not in scoped.get(path).data
    assert scoped.patch(path, {"conversation": {"title": "y"}}).data["title"] == "y"
    assert api.get(path).data["priority"] == {"level": 1.5}
    assert "priority" not in api.patch(path, {"conversation": {"priority": None}}).data
    strict = {**api._headers, "Content-Type": "application/json", "Prefer": "handling=strict"}
    for method, target in (("POST", CONVOS), ("PATCH", path)):
        refused(api.call(method, target, sent, strict), 400, "conversation.priority")


def test_a_record_that_was_read_can_be_sent_back(api: Api) -> None:
    api.post(STATE, {"turns": [turn(1, "Hello")], "metadata": {"userName": "Ann"}})
    record = api.get(CONVERSATION).data
    answer = api.patch(CONVERSATION, {"conversation": record})
    assert answer.data == without(record, "messages")
    assert {one["message"] for one in answer.json["warnings"]} == {IGNORED}


@pytest.mark.parametrize(
    ("updates", "warnings"), [(True, ["lgMessages"]), (False, ["lgMessages", "updateConversationMetadata"])]
)
def test_replaced_turns_always_update_the_counters(updates: bool, warnings: list[str], api: Api) -> None:
    api.post(STATE, {"turns": [turn(1, "Hello"), turn(2, "Bye")]})
    body = {"turns": [turn(3, "Only")], "updateConversationMetadata": updates, "lgMessages": []}
    answer = api.patch(f"{CONVERSATION}/messages", body)
    assert [one["path"] for one in answer.json["warnings"]] == warnings
    assert api.get(CONVERSATION).data["messagesNum"] == 1


def test_an_unknown_client_is_not_found_and_changes_nothing(api: Api) -> None:
    api.post(STATE, {"metadata": {"state": "requested_chat"}})
    before = api.get(CONVERSATION)
    assert refused(api.post(f"{CONVERSATION}/assign", {"assignToUserId": "unknown"}), 404) == "There is no such client."
    assert api.get(CONVERSATION).text == before.text


# ---- messages ------------------------------------------------------------------------------------


def test_messages_are_flat_and_have_the_sender_and_time_of_their_turn(api: Api) -> None:
    own = {"mid": "own", "from": "bot", "ts": 5, "extra": [1]}
    bare = {"mid": "bare", "ts": None, "from": None}
    api.post(STATE, {"turns": [{"from": "human", "ts": 7, "messages": [own, bare]}, {"from": "bot", "note": "none"}]})
    own, bare = {**own, "item": {}}, {"mid": "bare", "ts": 7, "from": "human", "item": {}}
    expected = [bare, own]
    assert api.get(f"{CONVERSATION}/messages").data == expected
    assert api.get(CONVERSATION).data["messages"] == expected


def test_a_conversation_without_messages_has_an_empty_list(api: Api) -> None:
    api.post(STATE, {"metadata": {"userName": "Ann"}})
    answer = api.get(f"{CONVERSATION}/messages").json
    assert (answer["data"], answer["hasMore"], "nextCursor" in answer) == ([], False, False)
    assert api.get(CONVERSATION).data["messages"] == []
    api.post(f"{CONVOS}", {"conversation": {"messagesNum": 9}})
    (made,) = (one for one in api.get(CONVOS).data if one["ID"] != "ann")
    assert api.get(f"{CONVOS}/{made['ID']}/messages").json["hasMore"] is False


@pytest.mark.parametrize("limit", [7, 100])
def test_pages_of_messages_together_have_every_message_once(limit: int, api: Api) -> None:
    """Messages of up to 9 KB hardly compress, so the transcript is split into several chunks."""
    chance = random.Random(limit)
    texts = [chance.randbytes(chance.choice([5, 300, 4_500])).hex() for _ in range(150)]
    texts[75] = '"\\{[' * 40_000  # a message that is longer than a chunk and looks like JSON
    api.post(STATE, {"turns": [turn(number, text) for number, text in enumerate(texts)]})
    messages = flatten(read_pages(api, f"{CONVERSATION}/messages", limit))
    listed = [(one["mid"], one["item"]["text"]) for one in messages]
    assert listed == [(f"m{number}", text) for number, text in enumerate(texts)][::-1]


def test_a_cursor_stays_right_while_messages_are_appended(api: Api) -> None:
    turns = [turn(number) for number in range(9)]
    api.post(STATE, {"turns": turns[:6]})
    first = api.get(f"{CONVERSATION}/messages?limit=2").json
    api.post(STATE, {"turns": turns})
    second = api.get(f"{CONVERSATION}/messages?limit=100&cursor={first['nextCursor']}").json
    assert [one["mid"] for one in first["data"] + second["data"]] == ["m5", "m4", "m3", "m2", "m1", "m0"]


def test_a_cursor_of_messages_is_a_position(api: Api) -> None:
    api.post(STATE, {"turns": [turn(0)]})
    for cursor in ("0", "x", "-1", "1.5", "01", "1" * 10):
        answer = api.get(f"{CONVERSATION}/messages?cursor={cursor}")
        assert refused(answer, 400, "cursor") == "cursor must be the nextCursor of an earlier response."


def test_only_the_needed_chunks_are_read_one_at_a_time(api: Api) -> None:
    turns = [turn(number, random.Random(number).randbytes(5_000).hex()) for number in range(100)]
    api.post(STATE, {"turns": turns})
    costs = []
    for path in (
        CONVERSATION,
        f"{CONVERSATION}/messages?limit=1",
        f"{CONVERSATION}/messages?limit=20",
        f"{CONVERSATION}/messages?limit=100",
    ):
        with counted() as requests:
            assert api.get(path).status == 200
        assert requests.keys() == {"BatchGetItem"}
        costs.append(requests["BatchGetItem"])
    assert costs == [1, 1, 3, 12]


def test_a_chunk_that_is_replaced_meanwhile_is_read_again(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def turns(text: str) -> list[dict[str, Any]]:
        return [turn(number, f"{text} {random.Random(number).randbytes(5_000).hex()}") for number in range(40)]

    api.post(STATE, {"turns": turns("Old")})
    real, calls = turns_._read_chunks, 0

    def replace_first(*arguments: Any) -> Any:
        nonlocal calls
        calls += 1
        if calls == 1:
            assert api.post(STATE, {"turns": turns("New")}).status == 200
        return real(*arguments)

    monkeypatch.setattr(turns_, "_read_chunks", replace_first)
    shown = api.get(f"{CONVERSATION}/messages?limit=100").data
    assert {one["item"]["text"].split()[0] for one in shown} == {"New"}
    assert len(shown) == 40


def test_the_newest_messages_cost_the_same_for_any_transcript(api: Api) -> None:
    costs = []
    for count in (10, 2_000):
        api.post(STATE, {"turns": [turn(number, "word " * 20) for number in range(count)]})
        with metered() as used:
            assert len(api.get(CONVERSATION).data["messages"]) == min(count, 20)
        costs.append(used.reads)
    assert costs[1] <= costs[0] + 4


# ---- reading turns backwards ---------------------------------------------------------------------

_STRINGS = [
    "",
    '"',
    "\\",
    '\\"',
    "{",
    "}]",
    ",{",
    '},{"a":1',
    "\N{GRINNING FACE}",
    "\\\\",
    "[[",
    "é\\u0022",
    '{"from":',
]


def any_json(chance: random.Random, depth: int) -> Any:
    kind = chance.randrange(6 if depth else 4)
    if kind == 4:
        return [any_json(chance, depth - 1) for _ in range(chance.randrange(4))]
    if kind == 5:
        return {text(chance): any_json(chance, depth - 1) for _ in range(chance.randrange(4))}
    return (text(chance), chance.randrange(-9, 99), None, 0.5)[kind]


def text(chance: random.Random) -> str:
    return "".join(chance.choices(_STRINGS, k=chance.randrange(4)))


def parts_of(whole_text: bytes, chance: random.Random) -> Iterator[bytes]:
    cuts = sorted(chance.choices(range(len(whole_text) + 1), k=chance.randrange(12)))
    bounds = [0, *cuts, len(whole_text)]
    yield from reversed([whole_text[start:end] for start, end in pairwise(bounds)])


def test_any_turns_cut_anywhere_are_read_from_their_end() -> None:
    chance = random.Random(1)
    for _ in range(300):
        turns = [{text(chance) + "x": any_json(chance, 3)} for _ in range(chance.randrange(6))]
        whole_text = json.dumps(turns, separators=(",", ":"), ensure_ascii=chance.random() < 0.5).encode()
        assert [turn for _, turn in parser._newest_turns(parts_of(whole_text, chance))] == turns[::-1]


def test_turns_in_parts_of_one_byte_are_read_from_their_end() -> None:
    chance = random.Random(1)
    turns = [{"x": [*_STRINGS, "\\" * 50, '\\"' * 50], "y": any_json(chance, 3)} for _ in range(20)]
    whole_text = json.dumps(turns, separators=(",", ":")).encode()
    backwards = (whole_text[at : at + 1] for at in range(len(whole_text) - 1, -1, -1))
    assert [turn for _, turn in parser._newest_turns(backwards)] == turns[::-1]


@pytest.mark.parametrize("item", [[[]] * 5_000, ["x"] * 5_000, '"' * 20_000], ids=["brackets", "strings", "quotes"])
def test_a_long_turn_in_many_parts_is_looked_at_once(item: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    class CountingPattern:
        """A pattern that counts the bytes that it scans."""

        passed = 0

        def __init__(self, pattern: re.Pattern[bytes]) -> None:
            self.pattern = pattern

        def search(self, text: bytes, start: int) -> re.Match[bytes] | None:
            found = self.pattern.search(text, start)
            CountingPattern.passed += (found.end() if found else len(text)) - start
            return found

    monkeypatch.setattr(parser, "_OUTSIDE", CountingPattern(parser._OUTSIDE))
    monkeypatch.setattr(parser, "_INSIDE", CountingPattern(parser._INSIDE))
    text = json.dumps([{"x": item}], separators=(",", ":")).encode()
    parts = [text[max(0, end - 100) : end] for end in range(len(text), 0, -100)]
    assert [turn for _, turn in parser._newest_turns(parts)] == [{"x": item}]
    assert CountingPattern.passed <= len(text) + 2 * len(parts)


def test_a_missing_beginning_leaves_out_only_the_turn_that_it_cuts() -> None:
    chance = random.Random(0)
    turns = [{f"{number}x": any_json(chance, 2)} for number in range(4)]
    whole_text = json.dumps(turns, separators=(",", ":")).encode()
    starts = [whole_text.index(b'{"%dx"' % number) for number in range(4)]
    for cut in range(len(whole_text) + 1):
        expected = [one for one, start in zip(turns, starts, strict=True) if start >= cut][::-1]
        assert [turn for _, turn in parser._newest_turns([whole_text[cut:]])] == expected, cut
