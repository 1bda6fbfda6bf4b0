"""The first entry of page N is calculated from tallies and compared with a list that is counted entry by entry."""

import random

import pytest

from chalicelib import ids
from chalicelib.conversations import page_position
from chalicelib.conversations.page_position import Depth, Jump, Quarter
from tests.conversations.page_costs import DAY, NOVEMBER, SIZE, tallied, worst_page
from tests.selection import whole


def created_at(chance: random.Random, days: int, count: int) -> list[int]:
    """Return creation times in Unix milliseconds, newest first. Some days and quarter hours are empty, some crowded."""
    busy = [chance.randrange(days * DAY) for _ in range(max(1, count // 20))]
    around = [chance.choice(busy) + chance.randrange(20 * 60 * 1000) for _ in range(count)]
    return sorted((NOVEMBER + time for time in around), reverse=True)


def read(times: list[int], jump: Jump) -> tuple[list[int], int]:
    """Return the page that a jump reads, and the number of entries read."""
    newer = [time for time in reversed(times) if time >= jump.boundary][: jump.newer][::-1]
    older = [time for time in times if time < jump.boundary][: jump.skip + max(0, SIZE - len(newer))]
    return (newer + older[jump.skip :])[:SIZE], len(newer) + len(older)


@pytest.mark.parametrize("seed", range(4))
def test_every_page_is_found_and_reads_at_most_half_of_its_quarter_hour(seed: int) -> None:
    chance = random.Random(seed)
    times = created_at(chance, chance.choice([1, 3, 70, 400]), chance.choice([1, 30, 500, 3_000]))
    months, days = tallied(times)
    crowded = max(tally for quarters in days.values() for tally in quarters)
    for depth in range(len(times)):
        day = page_position.find_day(months, depth)
        assert day
        found = page_position.find_jump(day, days[day.day], SIZE)
        page, entries = read(times, found)
        assert page == times[depth : depth + SIZE]
        assert entries <= (crowded + SIZE) / 2 + SIZE


def test_months_that_do_not_reach_a_page_lead_nowhere() -> None:
    assert page_position.find_day([("2026-11", [0] * 31)], 0) is None
    assert page_position.find_day([("2026-11", [2, *[0] * 30]), ("2026-10", [1, *[0] * 30])], 3) is None


@pytest.mark.parametrize("quarters", [[], [2, *[0] * 95]])
def test_a_day_with_fewer_conversations_than_its_month_says_leads_to_its_start(quarters: list[int]) -> None:
    assert page_position.find_jump(Depth("2026-11-01", 2), quarters, SIZE) == Jump(NOVEMBER, 0, 0)


def test_a_quarter_hour_follows_from_the_time_of_a_ulid() -> None:
    last = page_position.quarter_of(ids.id_at(NOVEMBER + DAY - 1, 2**80 - 1))
    assert (last, last.month, last.day_number) == (Quarter("2026-11-01", 95), "2026-11", 0)
    assert last.start() == NOVEMBER + DAY - page_position.QUARTER_MILLISECONDS
    assert page_position.quarter_of(ids.id_at(NOVEMBER + DAY, 0)) == Quarter("2026-11-02", 0)


@pytest.mark.parametrize(
    "conversations", [pytest.param(100_000, marks=whole), pytest.param(1_000_000, marks=pytest.mark.long)]
)
def test_any_page_costs_four_requests_and_twelve_units(conversations: int) -> None:
    worst = worst_page(conversations, 37)
    assert worst.requests <= 4
    assert worst.read_units <= 12
