"""`message_received`: one event per human message of any length, even after replacements, deletions and repeats."""

import random
from collections.abc import Iterator
from typing import Any

import pytest

from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import stored
from tests.builders import webhook_body
from tests.clients.test_clients import noise
from tests.engine_requests import counted
from tests.selection import first_case
from tests.webhooks.pipeline import Inbox, Stream, drain, events_of, fan_out, payloads

STATE = "/agents/support/interact/ann/state"
AGENT = {"agentId": "support", "agentName": "Support", "convoId": "ann", "channel": "webchat"}


@pytest.fixture(autouse=True)
def support(agent_id: str) -> str:
    return agent_id


@pytest.fixture
def talk(stream: Stream, api: Api) -> Any:
    """Return a function that sends a state change and returns the texts of the received messages."""
    stream.read()

    def exchange(**change: Any) -> list[str]:
        answer = api.post(STATE, change)
        assert answer.status == 200, answer.text
        return contents(stream)

    return exchange


def contents(stream: Stream) -> list[str]:
    return [event.payload["messageContent"] for event in events_of(stream.read()) if event.type == "message_received"]


def human(text: str, **message: Any) -> dict[str, Any]:
    return {"from": "human", "messages": [{"item": {"text": text}, **message}]}


def bot(text: str, **message: Any) -> dict[str, Any]:
    return {"from": "bot", "messages": [{"item": {"text": text}, **message}]}


# The payload


def test_the_payload_has_the_content_the_sender_and_the_conversation(stream: Stream, api: Api) -> None:
    stream.read()
    api.post(STATE, {"turns": [human("Hello", type="text")], "metadata": {"origin": "chatapp"}})
    assert payloads(stream.read()) == [
        (
            "message_received",
            {**AGENT, "channel": "chatapp", "messageContent": "Hello", "messageType": "text", "from": "human"},
        )
    ]


def test_unknown_members_are_absent(stream: Stream, api: Api) -> None:
    api.post("/v2/agents/bare", {})
    stream.read()
    api.post("/agents/bare/interact/ann/state", {"turns": [{"from": "human", "messages": [{}]}]})
    assert payloads(stream.read()) == [
        (
            "message_received",
            {"agentId": "bare", "convoId": "ann", "channel": "webchat", "messageContent": "", "from": "human"},
        )
    ]


@pytest.mark.parametrize(
    ("origin", "channel"),
    [
        (None, "webchat"),
        ("web-chat", "webchat"),
        ("chatapp", "chatapp"),
        ("community", "socialnet"),
        ("gb-chat", "cloudchat"),
    ],
)
@first_case
def test_the_origin_decides_the_channel(stream: Stream, api: Api, origin: str | None, channel: str) -> None:
    stream.read()
    api.post(STATE, {"turns": [human("Hello")], "metadata": {"origin": origin}})
    (event,) = events_of(stream.read())
    assert event.payload["channel"] == channel


def test_the_channel_of_a_message_is_used_if_it_is_in_the_list(stream: Stream, api: Api) -> None:
    """The channel list in §6 is closed.

    If a message's `channel` has another value, the origin determines the channel.
    """
    stream.read()
    listed = ["chatapp", "photoapp", "socialnet", "cloudchat", "webchat"]
    others: list[Any] = ["voice", "web-chat", "", None, 5, ["webchat"], {"webchat": 1}]
    sent = [human("Hello", mid=f"m{at}", channel=channel) for at, channel in enumerate(listed + others)]
    assert api.post(STATE, {"turns": sent, "metadata": {"origin": "gb-chat"}}).status == 200
    found = [event.payload["channel"] for event in events_of(stream.read())]
    assert found == [*listed, *["cloudchat"] * len(others)]


def test_a_launch_is_no_message_of_the_user(talk: Any, api: Api) -> None:
    """Opening the widget sends a launch message, although the visitor has not yet written anything."""
    api.patch("/v3/agents/support", {"agent": {"limits": {"maxInteractionsPerUserId": 1}}})
    launch = {"from": "human", "messages": [{"mid": "l", "type": "launch", "ts": 1}]}
    assert talk(turns=[launch]) == []
    metadata = api.post(STATE).json["chatState"]
    assert (metadata["messagesNum"], metadata["interactionsNum"]) == (1, 0)
    assert metadata.keys() & {"firstMessageTS", "lastMessageTS"} == set()
    added = api.post("/agents/support/interact/ann/messages", {"messages": [{"from": "human", "type": "launch"}]})
    assert added.status == 200
    assert talk(turns=[launch, human("Hello", mid="a", ts=5)]) == ["Hello"]
    metadata = api.post(STATE).json["chatState"]
    assert (metadata["interactionsNum"], metadata["firstMessageTS"], metadata["lastMessageTS"]) == (1, 5, 5)


def test_a_launch_that_becomes_a_message_is_a_new_one(talk: Any) -> None:
    assert talk(turns=[human("", mid="a", type="launch")]) == []
    assert talk(turns=[human("Hello", mid="a", type="text")]) == ["Hello"]
    assert talk(turns=[human("", mid="a", type="launch")]) == talk(turns=[human("Hello", mid="a")]) == []


def test_a_launch_with_a_text_is_a_message_of_the_user(talk: Any, api: Api) -> None:
    assert talk(turns=[human("Hello", mid="a", type="launch")]) == ["Hello"]
    assert talk(turns=[human("Hello", mid="a", type="text")]) == []
    assert api.post(STATE).json["chatState"]["interactionsNum"] == 1


@pytest.mark.parametrize("item", [None, {}, {"text": ""}, {"payload": {"name": "x"}}, {"type": "launch"}])
def test_a_launch_without_a_text_is_silent(item: Any, talk: Any, api: Api) -> None:
    assert talk(turns=[{"from": "human", "messages": [{"type": "launch", "item": item}]}]) == []
    assert api.post(STATE).json["chatState"]["interactionsNum"] == 0


def test_an_edit_changes_the_counter_and_sends_no_event(stream: Stream, talk: Any, api: Api) -> None:
    assert talk(turns=[{"from": "human", "messages": [{"mid": "a", "type": "launch"}]}]) == []
    path = "/v3/agents/support/convos/ann/messages/a"
    for edit, number in (({"item": {"text": "Hello"}}, 1), ({"item": None}, 0)):
        assert api.patch(path, {"message": edit}).status == 200
        assert events_of(stream.read()) == []
        assert api.post(STATE).json["chatState"]["interactionsNum"] == number


@pytest.mark.parametrize(
    ("item", "content"),
    [
        ({"text": "a text"}, "a text"),
        ({"message": "a message"}, "a message"),
        ({"content": "a content"}, "a content"),
        ({"payload": {"message": "inside"}}, "inside"),
        ({"payload": "a payload", "text": "wins"}, "wins"),
        ({"buttons": ["yes", "no"], "ö": 1}, '{"buttons":["yes","no"],"ö":1}'),
        ({}, ""),
        (None, ""),
    ],
)
def test_the_content_is_the_text_of_the_item_or_the_item_as_json(talk: Any, item: Any, content: str) -> None:
    assert talk(turns=[{"from": "human", "messages": [{"item": item}]}]) == [content]


def test_the_sender_of_a_message_takes_precedence_over_that_of_its_turn(talk: Any) -> None:
    turns = [
        human("of the turn"),
        bot("of the bot"),
        bot("of the message", **{"from": "human"}),
        human("said by the bot in a human's turn", **{"from": "bot"}),
        {"messages": [{"item": {"text": "without a sender"}}]},
        {"from": "agent", "messages": [{"item": {"text": "an agent's"}}]},
    ]
    assert talk(turns=turns) == ["of the turn", "of the message"]


# Only once


@pytest.mark.parametrize("mids", [True, False])
def test_only_new_messages_are_received(talk: Any, mids: bool) -> None:
    def turns(*texts: str) -> list[dict[str, Any]]:
        given = ({"mid": text} if mids else {} for text in texts)
        return [turn for text, mid in zip(texts, given, strict=True) for turn in (human(text, **mid), bot("Well"))]

    assert talk(turns=turns("one", "two")) == ["one", "two"]
    assert talk(turns=turns("one", "two")) == []
    assert talk(turns=turns("one", "two", "three")) == ["three"]
    assert talk(turns=turns("three")) == []
    assert talk(turns=turns()) == []
    assert talk(turns=turns("one", "two", "three", "four")) == ["four"]


def test_a_message_is_not_received_again_after_any_change(talk: Any) -> None:
    first = [human("one", mid="1"), human("two", mid="2")]
    assert talk(turns=first) == ["one", "two"]
    assert talk(delete={"mids": ["1"]}) == []
    assert talk(turns=first) == []
    assert talk(turns=[bot("nothing of the user's")]) == []
    assert talk(turns=[human("other content under an old id", mid="1")]) == []
    assert talk(metadata={"userName": "Ann"}) == []
    assert talk(turns=[*first, human("three", mid="3")], delete={"mids": ["3"]}) == []
    assert talk(turns=[*first, human("three", mid="3")]) == ["three"]


def test_a_replacement_of_the_messages_receives_the_new_ones(stream: Stream, talk: Any, api: Api) -> None:
    assert talk(turns=[human("Hello", mid="1")]) == ["Hello"]
    messages = [{"mid": mid, "from": "human", "item": {"text": text}} for mid, text in (("1", "Hello"), ("2", "New"))]
    assert api.patch("/v3/agents/support/convos/ann/messages", {"turns": [{"messages": messages}]}).status == 200
    assert contents(stream) == ["New"]


def test_turns_sent_back_with_their_ids_are_not_new(talk: Any, api: Api) -> None:
    assert talk(turns=[human("yes"), bot("Sure?"), human("yes")]) == ["yes", "yes"]
    read = api.post(STATE).json["turns"]
    assert talk(turns=[{**turn, "messages": [turn["messages"]]} for turn in read]) == []
    assert talk(turns=[human("yes"), bot("Sure?"), human("yes"), bot("Really?"), human("yes")]) == ["yes"]


def test_turns_sent_back_without_ids_are_not_new(talk: Any, api: Api) -> None:
    assert talk(turns=[human("yes"), bot("Sure?"), human("yes")]) == ["yes", "yes"]
    read = api.post(STATE).json["turns"]
    assert all("ts" in turn for turn in read)
    bare = [{**turn, "messages": [{**turn["messages"], "mid": None}]} for turn in read]
    assert talk(turns=bare) == []


def test_equal_messages_with_different_times_are_different_messages(talk: Any) -> None:
    assert talk(turns=[human("yes", ts=1)]) == ["yes"]
    assert talk(turns=[human("yes", ts=2)]) == ["yes"]
    assert talk(turns=[human("yes", ts=2)]) == []


def test_after_its_deletion_a_conversation_receives_the_same_messages_again(talk: Any, api: Api) -> None:
    assert talk(turns=[human("one", mid="1")]) == ["one"]
    assert api.delete("/v3/agents/support/convos/ann").status == 200
    assert talk(turns=[human("one", mid="1")]) == ["one"]


def test_a_bot_message_that_becomes_a_human_message_is_received(talk: Any) -> None:
    assert talk(turns=[bot("one", mid="1")]) == []
    assert talk(turns=[human("one", mid="1")]) == ["one"]


def test_a_later_change_of_metadata_makes_no_event(stream: Stream, api: Api) -> None:
    """A metadata write must clear the previous write's new messages."""
    stream.read()
    api.post(STATE, {"turns": [human("one")]})
    api.post(STATE, {"metadata": {"userName": "Ann"}})
    api.post(STATE, {"metadata": {"userName": "Bea"}})
    assert len(events_of(stream.read())) == 1


# Any length


def received_items() -> list[dict[str, Any]]:
    return [item for item in stored()["cams-conversations"] if item["item"]["S"].startswith("received#")]


def is_in_own_item() -> bool:
    (row,) = [item for item in stored()["cams-conversations"] if item["item"]["S"] == "conversation"]
    return "received" in row


def transcripts() -> Iterator[tuple[str, list[str]]]:
    random_ = random.Random(7)
    astral = "".join(chr(random_.randrange(0x10000, 0x10FFFF)) for _ in range(400_000))
    yield "one that is truncated", [noise(300_000)]
    yield "many of different sizes", [noise(random_.randint(1, 30_000)) for _ in range(100)]
    yield "2 MiB in messages of 90,000 characters", [noise(90_000 + number) for number in range(22)]
    yield "thousands of short ones", [f"message {number}" for number in range(9_000)]
    yield "thousands that are empty", [""] * 9_000
    yield "emoji", ["👩🏽‍🚀" * 20_000, "🙂" * 99_999, "🙂" * 100_001]
    yield "four bytes a character", [astral[start : start + 100_000] for start in range(0, 400_000, 100_000)]
    yield "characters that JSON escapes", ['"\\\n\x00' * 20_000, "\x00" * 100_000]


@first_case
@pytest.mark.parametrize(("name", "texts"), transcripts())
def test_messages_of_a_long_transcript_are_received_once_and_in_order(
    stream: Stream, api: Api, name: str, texts: list[str]
) -> None:
    stream.read()
    turns = [human(text) for text in texts]
    answer = api.post(STATE, {"turns": turns})
    assert answer.status == 200, answer.text[:300]

    events = events_of(stream.read())
    assert [event.payload["messageContent"] for event in events] == [text[:100_000] for text in texts]
    times = [event.payload["createdAt"] for event in events]
    assert times == sorted(set(times))
    assert len({event.id for event in events}) == len(events)
    assert [event.id for event in events] == sorted(event.id for event in events)

    assert api.post(STATE, {"turns": turns}).status == 200
    assert events_of(stream.read()) == []


def test_long_messages_are_not_part_of_later_changes(talk: Any) -> None:
    long = [human(noise(30_000 + number), mid=str(number)) for number in range(20)]
    assert len(talk(turns=long)) == 20
    parts = received_items()
    assert len(parts) > 1
    assert not is_in_own_item()
    assert all("expires_at" in part for part in parts)
    assert talk(turns=[*long, human("short", mid="short")]) == ["short"]
    assert is_in_own_item()
    assert talk(metadata={"userName": "Ann"}) == []
    assert not is_in_own_item()
    assert len(talk(turns=[*long, human(noise(90_000), mid="long again")])) == 1
    assert not is_in_own_item()
    assert talk(metadata={"userName": "Bea"}) == []


def test_long_messages_are_written_in_the_same_transaction_as_the_conversation(
    stream: Stream, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    turns = [human(noise(90_000 + number)) for number in range(20)]
    with counted() as sent:
        assert api.post(STATE, {"turns": turns}).status == 200
    writes = {name: count for name, count in sent.items() if name.startswith(("Put", "Update", "Transact", "BatchW"))}
    assert writes == {"TransactWriteItems": 1}


def test_an_id_may_be_as_long_as_a_message(talk: Any) -> None:
    mids = [noise(900_000), noise(900_001)]
    turns = [human("one", mid=mids[0]), human("two", mid=mids[1])]
    assert talk(turns=turns) == ["one", "two"]
    assert talk(turns=turns) == []


def test_a_message_of_the_maximum_length_is_delivered(
    stream: Stream, api: Api, inbox: Inbox, workspace: NewWorkspace
) -> None:
    random_ = random.Random(8)
    text = "".join(chr(random_.randrange(0x10000, 0x10FFFF)) for _ in range(100_001))
    api.post("/v3/webhooks", webhook_body(inbox.url(), "message_received"))
    api.post(STATE, {"turns": [human(text, type="t" * 2_000)], "metadata": {"origin": "chatapp"}})
    fan_out(stream.read())
    drain()
    (post,) = inbox.posts
    assert post.payload["messageContent"] == text[:100_000]
    assert post.payload["messageType"] == "t" * 1_000
