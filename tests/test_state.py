"""The pure heart of the state route: what a change does to a state (§4.3)."""

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

import pytest

from chalicelib import errors, sealing
from chalicelib.conversations.models import StateIn
from chalicelib.conversations.state import LIMIT, Now, State, apply, check_limits, empty


@pytest.fixture
def now() -> Now:
    numbers: Iterator[int] = count(1)
    return Now(1000, lambda: f"made-{next(numbers)}")


def change(**members: Any) -> StateIn:
    return StateIn.model_validate_json(json.dumps(members))


def turn(*messages: dict[str, Any], **rest: Any) -> dict[str, Any]:
    return {"messages": list(messages), **rest}


def turns_of(state: State) -> Any:
    return json.loads(state.turns)


def test_no_member_gives_the_state_itself(now: Now) -> None:
    before = empty("c")
    assert apply(before, change(), now) is before


def test_each_message_becomes_a_turn_of_its_own_in_order(now: Now) -> None:
    sent = [turn({"mid": "a"}, {"mid": "b"}, **{"from": "human", "ts": 1}), turn({"mid": "c"}, ts=2)]
    answered = turns_of(apply(empty("c"), change(turns=sent), now))
    assert [(one["messages"]["mid"], one.get("from"), one["ts"]) for one in answered] == [
        ("a", "human", 1),
        ("b", "human", 1),
        ("c", None, 2),
    ]


def test_a_message_keeps_what_it_carries_and_gets_an_id_when_it_has_none(now: Now) -> None:
    message = {
        "from": "bot",
        "type": "text",
        "item": {"": [None, 1e300, "é😀"]},
        "delay": 0.5,
        "ts": 3,
        "own": {"x": 1},
    }
    (answered,) = turns_of(apply(empty("c"), change(turns=[turn(message)]), now))
    assert answered["messages"] == {**message, "mid": "made-1"}


def test_what_else_a_turn_carries_is_kept(now: Now) -> None:
    (answered,) = turns_of(apply(empty("c"), change(turns=[turn({"mid": "a"}, channel="x")]), now))
    assert answered["channel"] == "x"


def test_a_turn_without_messages_is_kept(now: Now) -> None:
    answered = turns_of(apply(empty("c"), change(turns=[{"from": "bot", "ts": 5}]), now))
    assert answered == [{"from": "bot", "ts": 5}]


def test_a_turns_time_is_its_messages_then_its_own_then_that_of_the_write(now: Now) -> None:
    sent = [turn({"ts": 7}, {}, ts=6), turn({})]
    assert [one["ts"] for one in turns_of(apply(empty("c"), change(turns=sent), now))] == [7, 6, 1000]


def test_turns_replace_all_that_was_there(now: Now) -> None:
    before = apply(empty("c"), change(turns=[turn({"mid": "old"})]), now)
    after = apply(before, change(turns=[turn({"mid": "new"})]), now)
    assert [one["messages"]["mid"] for one in turns_of(after)] == ["new"]


def test_deleting_takes_the_named_messages_and_ignores_unknown_ones(now: Now) -> None:
    before = apply(empty("c"), change(turns=[turn({"mid": "a"}, {"mid": "b"})]), now)
    after = apply(before, change(delete={"mids": ["a", "nobody"]}), now)
    assert [one["messages"]["mid"] for one in turns_of(after)] == ["b"]


def test_deleting_only_unknown_messages_changes_nothing(now: Now) -> None:
    before = apply(empty("c"), change(turns=[turn({"mid": "a"})]), now)
    assert apply(before, change(delete={"mids": ["nobody"]}), now) is before


def test_replacing_comes_before_deleting(now: Now) -> None:
    after = apply(empty("c"), change(turns=[turn({"mid": "a"}, {"mid": "b"})], delete={"mids": ["a"]}), now)
    assert [one["messages"]["mid"] for one in turns_of(after)] == ["b"]


def test_metadata_merges_and_null_clears(now: Now) -> None:
    before = apply(empty("c"), change(metadata={"userName": "Ann", "tags": ["a"], "state": "requested_chat"}), now)
    after = apply(before, change(metadata={"tags": ["b"], "state": None}), now)
    assert (after.metadata["userName"], after.metadata["tags"]) == ("Ann", ["b"])
    assert "state" not in after.metadata


@pytest.mark.parametrize(
    "member", ["ID", "messagesNum", "interactionsNum", "firstMessageTS", "lastMessageTS", "lastModified"]
)
def test_what_the_service_sets_cannot_be_set(member: str, now: Now) -> None:
    value: Any = "mine" if member == "ID" else 77
    after = apply(empty("c"), change(turns=[], metadata={member: value}), now)
    assert after.metadata.get(member) != value


def test_all_messages_are_counted_and_the_users_own_with_their_first_and_last_time(now: Now) -> None:
    sent = [
        turn({"from": "human", "ts": 5}, {"from": "bot", "ts": 6}),
        turn({"ts": 7}, **{"from": "human"}),
        turn({"from": "bot", "ts": 9}, **{"from": "human"}),
    ]
    metadata = apply(empty("c"), change(turns=sent), now).metadata
    counted = {name: metadata[name] for name in ("messagesNum", "interactionsNum", "firstMessageTS", "lastMessageTS")}
    assert counted == {"messagesNum": 4, "interactionsNum": 2, "firstMessageTS": 5, "lastMessageTS": 7}


def test_deleting_counts_again(now: Now) -> None:
    before = apply(empty("c"), change(turns=[turn({"mid": "a", "from": "human", "ts": 1})]), now)
    after = apply(before, change(delete={"mids": ["a"]}), now)
    assert (after.metadata["messagesNum"], after.metadata["interactionsNum"]) == (0, 0)
    assert "firstMessageTS" not in after.metadata


def test_a_message_id_that_stands_there_twice_is_refused(now: Now) -> None:
    with pytest.raises(errors.Invalid, match=r"turns\.1\.messages\.0\.mid"):
        apply(empty("c"), change(turns=[turn({"mid": "a"}), turn({"mid": "a"})]), now)


def test_no_turns_at_all_create_a_conversation_once(now: Now) -> None:
    created = apply(empty("c"), change(turns=[]), now)
    assert created is not empty("c")
    assert apply(created, change(turns=[]), now) is created


@pytest.mark.parametrize("extra", [0, 1], ids=["2 MiB", "one byte more"])
def test_turns_end_at_two_mebibytes_of_json(extra: int, now: Now) -> None:
    bare = [turn({"mid": "a", "item": {"text": ""}})]
    bare[0]["messages"][0]["item"]["text"] = "x" * (LIMIT - len(sealing.encode(bare)) + extra)
    if extra:
        with pytest.raises(errors.TooLarge):
            apply(empty("c"), change(turns=bare), now)
    else:
        assert turns_of(apply(empty("c"), change(turns=bare), now))[0]["messages"] == bare[0]["messages"][0]


LIMITS = {
    "limits.maxInteractionsPerUserId": ({"limits": {"maxInteractionsPerUserId": 2}}, {"from": "human"}),
    "messagesLimit": ({"messagesLimit": 2}, {"from": "bot"}),
}


@pytest.mark.parametrize(("agent", "message"), LIMITS.values(), ids=LIMITS)
def test_a_limit_lets_the_last_message_pass_and_refuses_the_next(agent: Any, message: Any, now: Now) -> None:
    two = apply(empty("c"), change(turns=[turn(message, message)]), now)
    check_limits(agent, empty("c"), two)
    three = apply(two, change(turns=[turn(message, message, message)]), now)
    with pytest.raises(errors.LimitReached, match="is 2; 2 are used"):
        check_limits(agent, two, three)


@pytest.mark.parametrize(("agent", "message"), LIMITS.values(), ids=LIMITS)
def test_a_limit_that_is_exceeded_already_does_not_stand_in_the_way_of_less(agent: Any, message: Any, now: Now) -> None:
    four = apply(empty("c"), change(turns=[turn(*[message] * 4)]), now)
    check_limits(agent, four, apply(four, change(turns=[turn(*[message] * 3)]), now))


@pytest.mark.parametrize(
    "agent", [{}, {"messagesLimit": 0, "limits": {"maxInteractionsPerUserId": 0}}], ids=["none", "0"]
)
def test_no_limit_and_zero_limit_nothing(agent: Any, now: Now) -> None:
    check_limits(agent, empty("c"), apply(empty("c"), change(turns=[turn(*[{"from": "human"}] * 50)]), now))
