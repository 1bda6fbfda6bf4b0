"""Where page N of a list begins, found by tallies: the arithmetic, against a list that is counted entry by entry."""

import math
import random
from collections import defaultdict

import pytest

from chalicelib import ids
from chalicelib.conversations import jump
from chalicelib.conversations.jump import Depth, Jump, Quarter
from tests.selection import whole

SIZE = 21
# Bytes of an entry of the index: a summary of 600, and its keys. Read units of the rows read beside it.
ENTRY, DAY_ROW, AGENT = 700, 0.5, 2.0
DAY = 24 * 60 * 60 * 1000
NOVEMBER = 1_793_491_200_000  # 2026-11-01


def created_at(chance: random.Random, days: int, count: int) -> list[int]:
    """Times of creation in Unix milliseconds, newest first: some days and quarter hours are empty, some are crowded."""
    busy = [chance.randrange(days * DAY) for _ in range(max(1, count // 20))]
    around = [chance.choice(busy) + chance.randrange(20 * 60 * 1000) for _ in range(count)]
    return sorted((NOVEMBER + time for time in around), reverse=True)


def tallied(times: list[int]) -> tuple[list[tuple[str, list[int]]], dict[str, list[int]]]:
    """The tallies of all months, newest first, and of all days."""
    days: dict[str, list[int]] = defaultdict(lambda: [0] * jump.QUARTERS)
    months: dict[str, list[int]] = defaultdict(lambda: [0] * 31)
    for time in times:
        quarter = jump.quarter_of(ids.id_at(time, 0))
        days[quarter.day][quarter.number] += 1
        months[quarter.month][quarter.day_number] += 1
    return sorted(months.items(), reverse=True), days


def read(times: list[int], found: Jump) -> tuple[list[int], int]:
    """The page that a jump leads to, and the number of entries read."""
    newer = [time for time in reversed(times) if time >= found.boundary][: found.newer][::-1]
    older = [time for time in times if time < found.boundary][: found.skip + max(0, SIZE - len(newer))]
    return (newer + older[found.skip :])[:SIZE], len(newer) + len(older)


@pytest.mark.parametrize("seed", range(8))
def test_every_page_is_found_and_reads_at_most_half_of_its_quarter_hour(seed: int) -> None:
    chance = random.Random(seed)
    times = created_at(chance, chance.choice([1, 3, 70, 400]), chance.choice([1, 30, 500, 3_000]))
    months, days = tallied(times)
    crowded = max(tally for quarters in days.values() for tally in quarters)
    for depth in range(len(times)):
        day = jump.find_day(months, depth)
        assert day
        found = jump.find_jump(day, days[day.day], SIZE)
        page, entries = read(times, found)
        assert page == times[depth : depth + SIZE]
        assert entries <= (crowded + SIZE) / 2 + SIZE


def test_months_that_do_not_reach_a_page_lead_nowhere() -> None:
    assert jump.find_day([("2026-11", [0] * 31)], 0) is None
    assert jump.find_day([("2026-11", [2, *[0] * 30]), ("2026-10", [1, *[0] * 30])], 3) is None


@pytest.mark.parametrize("quarters", [[], [2, *[0] * 95]])
def test_a_day_with_fewer_conversations_than_its_month_says_leads_to_its_start(quarters: list[int]) -> None:
    assert jump.find_jump(Depth("2026-11-01", 2), quarters, SIZE) == Jump(NOVEMBER, 0, 0)


def test_a_quarter_hour_follows_from_the_time_of_a_ulid() -> None:
    last = jump.quarter_of(ids.id_at(NOVEMBER + DAY - 1, 2**80 - 1))
    assert (last, last.month, last.day_number) == (Quarter("2026-11-01", 95), "2026-11", 0)
    assert last.start() == NOVEMBER + DAY - jump.QUARTER_MILLISECONDS
    assert jump.quarter_of(ids.id_at(NOVEMBER + DAY, 0)) == Quarter("2026-11-02", 0)


@whole
def test_any_page_of_a_million_conversations_costs_four_requests_and_twelve_units() -> None:
    """A year with a daily rhythm: eight times as many conversations at noon as at night. Entries have 700 bytes."""
    chance = random.Random(14)
    year = [NOVEMBER - (one + 1) * DAY for one in range(365)]
    weights = [4.5 - 3.5 * math.cos(2 * math.pi * quarter / jump.QUARTERS) for quarter in range(jump.QUARTERS)]
    quarters = chance.choices(range(jump.QUARTERS), weights, k=1_000_000)
    times = sorted(
        (chance.choice(year) + quarter * jump.QUARTER_MILLISECONDS + chance.randrange(jump.QUARTER_MILLISECONDS))
        for quarter in quarters
    )[::-1]
    months, days = tallied(times)
    month_rows = math.ceil(sum(200 + 7 * len(counts) for _, counts in months) / 4096) / 2
    worst = 0.0
    for depth in range(0, len(times), 20 * 37):
        day = jump.find_day(months, depth)
        assert day
        found = jump.find_jump(day, days[day.day], SIZE)
        older = found.skip + max(0, SIZE - found.newer)
        reads = [math.ceil(entries * ENTRY / 4096) / 2 for entries in (found.newer, older) if entries]
        assert len(reads) <= 2  # after the months, and the day with the agent
        worst = max(worst, month_rows + DAY_ROW + AGENT + sum(reads))
    assert worst <= 12
