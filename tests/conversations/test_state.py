"""The pure functions of the state route: how a change applies to a state (§4.3)."""

import json
import re
from typing import Any

import pytest

from chalicelib import errors, storage
from chalicelib.conversations.models import StateIn
from chalicelib.conversations.state import (
    MAX_TURNS_BYTES,
    State,
    StateChange,
    apply_change,
    check_limits,
    empty_state,
    prepare_change,
)

NOW = 1000
NEWEST = ("lastMessage", "lastMessageFrom", "lastMessageSender")


@pytest.fixture(autouse=True)
def agent() -> None:
    """Override the fixture that creates an agent, because these functions read no records."""


def change(**members: Any) -> StateChange:
    return prepare_change(StateIn.model_validate_json(json.dumps(members)), NOW)


def turn(*messages: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {"messages": list(messages), **rest}


def turns_of(state: State) -> Any:
    return json.loads(state.turns)


def test_a_change_without_members_returns_the_same_state() -> None:
    before = empty_state("c")
    assert apply_change(before, change(), NOW) is before


def test_each_message_becomes_a_turn_of_its_own_in_order() -> None:
    sent = [turn({"mid": "a"}, {"mid": "b"}, **{"from": "human", "ts": 1}), turn({"mid": "c"}, ts=2)]
    answered = turns_of(apply_change(empty_state("c"), change(turns=sent), NOW))
    assert [(one["messages"]["mid"], one.get("from"), one["ts"]) for one in answered] == [
        ("a", "human", 1),
        ("b", "human", 1),
        ("c", None, 2),
    ]


def made_mids(*messages: dict[str, Any], sender: str = "human") -> list[str]:
    after = apply_change(empty_state("c"), change(turns=[turn(*messages, **{"from": sender})]), NOW)
    return [one["messages"]["mid"] for one in turns_of(after)]


def test_a_message_that_is_sent_again_gets_the_same_id() -> None:
    first, second = {"item": {"text": "a", "n": 1}, "ts": 1}, {"ts": 2}
    assert made_mids({"ts": 1, "item": {"n": 1, "text": "a"}}, second, {"ts": 3})[:2] == made_mids(first, second)


def test_equal_messages_get_different_ids() -> None:
    assert len({*made_mids({}, {}, {"ts": 1}), *made_mids({}, sender="bot")}) == 4


def test_a_message_keeps_its_members_and_gets_an_id_if_it_has_none() -> None:
    message = {
        "from": "bot",
        "type": "text",
        "item": {"": [None, 1e300, "é😀"]},
        "delay": 0.5,
        "ts": 3,
        "own": {"x": 1},
    }
    (answered,) = turns_of(apply_change(empty_state("c"), change(turns=[turn(message)]), NOW))
    assert answered["messages"] == {**message, "mid": answered["messages"]["mid"]}
    assert re.fullmatch(r"[\w-]{12}", answered["messages"]["mid"])


def test_other_members_of_a_turn_are_kept() -> None:
    (answered,) = turns_of(apply_change(empty_state("c"), change(turns=[turn({"mid": "a"}, channel="x")]), NOW))
    assert answered["channel"] == "x"


def test_optional_members_are_omitted_instead_of_null() -> None:
    sent = turn({"mid": "a", "from": None, "type": None, "item": None, "delay": None, "ts": None, "own": None}, ts=5)
    (answered,) = turns_of(apply_change(empty_state("c"), change(turns=[{**sent, "from": None}]), NOW))
    assert answered == {"messages": {"mid": "a", "own": None}, "ts": 5}


def test_a_turn_without_messages_is_kept() -> None:
    answered = turns_of(apply_change(empty_state("c"), change(turns=[{"from": "bot", "ts": 5}]), NOW))
    assert answered == [{"from": "bot", "ts": 5}]


def test_the_time_of_a_turn_is_that_of_its_message_else_its_own_else_that_of_the_write() -> None:
    sent = [turn({"ts": 7}, {}, ts=6), turn({})]
    assert [one["ts"] for one in turns_of(apply_change(empty_state("c"), change(turns=sent), NOW))] == [7, 6, 1000]


def test_turns_replace_all_earlier_turns() -> None:
    before = apply_change(empty_state("c"), change(turns=[turn({"mid": "old"})]), NOW)
    after = apply_change(before, change(turns=[turn({"mid": "new"})]), NOW)
    assert [one["messages"]["mid"] for one in turns_of(after)] == ["new"]


def test_turns_sent_back_unchanged_change_nothing() -> None:
    sent = turn({"type": "text", "own": 1}, {"item": {}, "ts": 2}, **{"own": 2, "from": "human"})
    before = apply_change(empty_state("c"), change(turns=[sent, {"own": 3}]), NOW)
    back = [{**one, "messages": [one["messages"]]} if "messages" in one else one for one in turns_of(before)]
    assert apply_change(before, change(turns=back), NOW + 1) is before


def test_deleting_removes_the_named_messages_and_ignores_unknown_ones() -> None:
    before = apply_change(empty_state("c"), change(turns=[turn({"mid": "a"}, {"mid": "b"})]), NOW)
    after = apply_change(before, change(delete={"mids": ["a", "unknown"]}), NOW)
    assert [one["messages"]["mid"] for one in turns_of(after)] == ["b"]


def test_deleting_only_unknown_messages_changes_nothing() -> None:
    before = apply_change(empty_state("c"), change(turns=[turn({"mid": "a"})]), NOW)
    assert apply_change(before, change(delete={"mids": ["unknown"]}), NOW) is before


def test_turns_are_replaced_before_messages_are_deleted() -> None:
    after = apply_change(
        empty_state("c"), change(turns=[turn({"mid": "a"}, {"mid": "b"})], delete={"mids": ["a"]}), NOW
    )
    assert [one["messages"]["mid"] for one in turns_of(after)] == ["b"]


def test_metadata_merges_and_null_clears() -> None:
    before = apply_change(
        empty_state("c"), change(metadata={"userName": "Ann", "tags": ["a"], "state": "requested_chat"}), NOW
    )
    after = apply_change(before, change(metadata={"tags": ["b"], "state": None}), NOW)
    assert (after.metadata["userName"], after.metadata["tags"]) == ("Ann", ["b"])
    assert "state" not in after.metadata


def test_read_only_members_of_metadata_cannot_be_set() -> None:
    for member in ("ID", "messagesNum", "interactionsNum", "firstMessageTS", "lastMessageTS", "lastModified"):
        value: Any = "mine" if member == "ID" else 77
        after = apply_change(empty_state("c"), change(turns=[], metadata={member: value}), NOW)
        assert after.metadata.get(member) != value


def test_the_counters_have_all_messages_and_the_users_messages_with_their_times() -> None:
    sent = [
        turn({"from": "human", "ts": 5}, {"from": "bot", "ts": 6}),
        turn({"ts": 7}, **{"from": "human"}),
        turn({"from": "bot", "ts": 9}, **{"from": "human"}),
    ]
    metadata = apply_change(empty_state("c"), change(turns=sent), NOW).metadata
    counted = {name: metadata[name] for name in ("messagesNum", "interactionsNum", "firstMessageTS", "lastMessageTS")}
    assert counted == {"messagesNum": 4, "interactionsNum": 2, "firstMessageTS": 5, "lastMessageTS": 7}


def test_deleting_updates_the_counters() -> None:
    before = apply_change(empty_state("c"), change(turns=[turn({"mid": "a", "from": "human", "ts": 1})]), NOW)
    after = apply_change(before, change(delete={"mids": ["a"]}), NOW)
    assert (after.metadata["messagesNum"], after.metadata["interactionsNum"]) == (0, 0)
    assert "firstMessageTS" not in after.metadata


def test_a_duplicate_message_id_is_refused() -> None:
    with pytest.raises(errors.Invalid, match=r"turns\.1\.messages\.0\.mid is duplicated"):
        apply_change(empty_state("c"), change(turns=[turn({"mid": "a"}), turn({"mid": "a"})]), NOW)


def test_an_empty_list_of_turns_creates_a_conversation_once() -> None:
    created = apply_change(empty_state("c"), change(turns=[]), NOW)
    assert created is not empty_state("c")
    assert apply_change(created, change(turns=[]), NOW) is created


@pytest.mark.parametrize("extra", [0, 1], ids=["2 MiB", "one byte more"])
def test_turns_are_limited_to_two_mebibytes_of_json(extra: int) -> None:
    bare = [turn({"mid": "a", "item": {"text": ""}})]
    bare[0]["messages"][0]["item"]["text"] = "x" * (MAX_TURNS_BYTES - len(storage.encode_json(bare)) + extra)
    if extra:
        with pytest.raises(errors.TooLarge):
            apply_change(empty_state("c"), change(turns=bare), NOW)
    else:
        assert (
            turns_of(apply_change(empty_state("c"), change(turns=bare), NOW))[0]["messages"] == bare[0]["messages"][0]
        )


def test_members_of_a_turn_count_for_each_of_its_messages() -> None:
    with pytest.raises(errors.TooLarge, match="once per message"):
        apply_change(empty_state("c"), change(turns=[turn(*[{}] * 100, note="x" * 100_000)]), NOW)


LIMITS = {
    "limits.maxInteractionsPerUserId": ({"limits": {"maxInteractionsPerUserId": 2}}, {"from": "human"}),
    "messagesLimit": ({"messagesLimit": 2}, {"from": "bot"}),
}


@pytest.mark.guarantee("limits")
@pytest.mark.parametrize(("agent", "message"), LIMITS.values(), ids=LIMITS)
def test_a_limit_accepts_the_last_message_and_refuses_the_next(agent: Any, message: Any) -> None:
    two = apply_change(empty_state("c"), change(turns=[turn(message, message)]), NOW)
    check_limits(agent, empty_state("c"), two)
    three = apply_change(two, change(turns=[turn(message, message, message)]), NOW)
    with pytest.raises(errors.LimitReached, match="would raise the count from 2 to 3"):
        check_limits(agent, two, three)


@pytest.mark.guarantee("limits")
@pytest.mark.parametrize(("agent", "message"), LIMITS.values(), ids=LIMITS)
def test_an_exceeded_limit_accepts_a_change_to_fewer_messages(agent: Any, message: Any) -> None:
    four = apply_change(empty_state("c"), change(turns=[turn(*[message] * 4)]), NOW)
    check_limits(agent, four, apply_change(four, change(turns=[turn(*[message] * 3)]), NOW))


@pytest.mark.parametrize(
    "agent", [{}, {"messagesLimit": 0, "limits": {"maxInteractionsPerUserId": 0}}], ids=["none", "0"]
)
@pytest.mark.guarantee("limits")
def test_an_absent_or_zero_limit_is_no_limit(agent: Any) -> None:
    check_limits(
        agent, empty_state("c"), apply_change(empty_state("c"), change(turns=[turn(*[{"from": "human"}] * 50)]), NOW)
    )


# Newest message


@pytest.mark.parametrize(
    ("item", "beginning"),
    [
        ({"text": "Hello"}, "Hello"),
        ({"payload": {"message": "Hello"}}, "Hello"),
        ({"number": 5}, '{"number":5}'),
        ({}, ""),
        (None, ""),
        ({"text": "x" * 201}, "x" * 200),
        ({"text": "\N{GRINNING FACE}" * 201}, "\N{GRINNING FACE}" * 200),
    ],
)
def test_the_metadata_has_the_beginning_of_the_newest_message(item: Any, beginning: str) -> None:
    turns = [turn({"mid": "a", "item": {"text": "First"}}), turn({"mid": "b", "item": item}, **{"from": "bot"}), turn()]
    assert apply_change(empty_state("c"), change(turns=turns), NOW).metadata["lastMessage"] == beginning


@pytest.mark.parametrize(
    ("message", "author"),
    [
        ({}, ("human", None)),
        ({"from": "bot"}, ("bot", None)),
        ({"from": "bot", "item": {"sender": "Noor"}}, ("bot", "Noor")),
        ({"from": "b" * 41, "item": {"sender": "n" * 41}}, ("b" * 40, "n" * 40)),
        ({"from": "", "item": {"sender": ""}}, ("human", None)),
        ({"item": {"sender": 5}}, ("human", None)),
        ({"item": None}, ("human", None)),
    ],
)
def test_the_metadata_has_the_author_of_the_newest_message(
    message: dict[str, Any], author: tuple[str, str | None]
) -> None:
    turns = [
        turn({"mid": "a", "from": "x", "item": {"sender": "y"}}),
        turn({"mid": "b", **message}, **{"from": "human"}),
    ]
    metadata = apply_change(empty_state("c"), change(turns=turns), NOW).metadata
    assert (metadata["lastMessageFrom"], metadata.get("lastMessageSender")) == author


def test_the_newest_message_follows_each_change_of_turns() -> None:
    turns = [turn({"mid": "a", "item": {"text": "First"}}), turn({"mid": "b", "item": {"text": "Second"}})]
    both = apply_change(empty_state("c"), change(turns=turns), NOW)
    assert both.metadata["lastMessage"] == "Second"
    described = apply_change(both, change(metadata={"userName": "Ann"}), NOW)
    assert described.metadata["lastMessage"] == "Second"
    one = apply_change(described, change(delete={"mids": ["b"]}), NOW)
    assert one.metadata["lastMessage"] == "First"
    empty = apply_change(one, change(turns=[]), NOW).metadata
    assert not {name for name in empty if name in NEWEST}


def test_a_conversation_that_was_stored_without_a_newest_message_gets_one() -> None:
    turns = [turn({"mid": "a", "item": {"text": "First"}})]
    after = apply_change(empty_state("c"), change(turns=turns), NOW)
    old = after._replace(metadata={name: one for name, one in after.metadata.items() if name not in NEWEST})
    again = apply_change(
        old, change(turns=[*turns, turn({"mid": "b", "item": {"text": "Second"}, "from": "human"})]), NOW
    )
    assert (again.metadata["lastMessage"], again.metadata["lastMessageFrom"]) == ("Second", "human")
