"""In the local engine's fair queues, message groups take turns, and one slot in eight is reserved for quiet groups."""

from typing import Any

from infra.local.fair_queues import SLOTS, choose, in_turn

NOW = 1_000.0


def waiting(group: str, count: int) -> list[dict[str, Any]]:
    return [{"id": f"{group}{n}", "group_id": group, "visible_at": 0.0, "receive_count": 0} for n in range(count)]


def in_flight(group: str, count: int) -> list[dict[str, Any]]:
    return [{"id": "", "group_id": group, "visible_at": NOW + 300, "receive_count": 1} for _ in range(count)]


def chosen(messages: list[dict[str, Any]], most: int = 10) -> list[str]:
    return [one["id"] for one in choose(messages, most, NOW)]


def test_groups_take_turns() -> None:
    assert chosen([*waiting("a", 20), *waiting("b", 2)], 5) == ["a0", "b0", "a1", "b1", "a2"]


def test_the_group_with_the_fewest_messages_in_flight_comes_first() -> None:
    assert chosen([*in_flight("a", 3), *waiting("a", 5), *waiting("b", 1)], 2) == ["b0", "a0"]


def test_a_group_alone_gets_everything_in_order() -> None:
    assert chosen(waiting("a", 3)) == ["a0", "a1", "a2"]


def test_an_eighth_of_the_slots_is_kept_for_groups_with_little_in_flight() -> None:
    noisy = [*in_flight("a", SLOTS * 7 // 8), *waiting("a", 5)]
    assert chosen(noisy) == []
    assert chosen([*noisy, *in_flight("b", 29), *waiting("b", 1), *waiting("c", 1)]) == ["c0", "b0"]
    assert chosen([*noisy, *in_flight("b", 30), *waiting("b", 1)]) == []


def test_two_groups_share_the_slots_for_those_with_much_in_flight() -> None:
    assert chosen([*in_flight("a", 30), *in_flight("b", 30), *waiting("a", 1), *waiting("b", 1)]) == []
    assert chosen([*in_flight("a", 30), *in_flight("b", 20), *waiting("a", 1), *waiting("b", 1)]) == ["b0", "a0"]


def test_delayed_messages_are_not_in_flight_and_are_not_chosen() -> None:
    delayed = [{**one, "visible_at": NOW + 60} for one in waiting("a", SLOTS)]
    assert chosen([*delayed, *waiting("a", 1)]) == ["a0"]


def test_the_engine_takes_only_the_chosen_messages() -> None:
    queue = {"name": "q", "messages": [*waiting("a", 20), *waiting("b", 1)]}

    def collect(queue: dict[str, Any], most: int, visibility: int) -> list[dict[str, Any]]:
        assert (queue["name"], visibility) == ("q", 30)
        found: list[dict[str, Any]] = queue["messages"][:most]
        return found

    assert [one["id"] for one in in_turn(collect)(queue, 3, 30)] == ["a0", "b0", "a1"]
    assert len(queue["messages"]) == 21
