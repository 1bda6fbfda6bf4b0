"""Tallies for simulated conversation lists, and the cost of using them to jump to a page."""

import math
import random
from collections import defaultdict
from typing import NamedTuple

from chalicelib import ids
from chalicelib.conversations import page_position
from chalicelib.conversations.listing import PAGE_SIZE

SIZE = PAGE_SIZE + 1
DAY = 24 * 60 * 60 * 1000
NOVEMBER = 1_793_491_200_000  # 2026-11-01
# `_ENTRY` is the size of an index entry in bytes: 600 for the summary, and 100 for the keys. `_DAY_ROW` and `_AGENT`
# are the read units for one day row and one agent.
_ENTRY, _DAY_ROW, _AGENT = 700, 0.5, 2.0


class PageCost(NamedTuple):
    """The requests and read units for one page."""

    requests: int
    read_units: float


def tallied(times: list[int]) -> tuple[list[tuple[str, list[int]]], dict[str, list[int]]]:
    """Return the tallies for all months (newest first) and for all days, given these creation times."""
    days: dict[str, list[int]] = defaultdict(lambda: [0] * page_position.QUARTERS)
    months: dict[str, list[int]] = defaultdict(lambda: [0] * 31)
    for time in times:
        quarter = page_position.quarter_of(ids.id_at(time, 0))
        days[quarter.day][quarter.number] += 1
        months[quarter.month][quarter.day_number] += 1
    return sorted(months.items(), reverse=True), days


def worst_page(count: int, every: int) -> PageCost:
    """Check every `every`th page of a list, and return the highest cost.

    Noon is eight times as busy as midnight.
    """
    chance = random.Random(14)
    year = [NOVEMBER - (one + 1) * DAY for one in range(365)]
    weights = [
        4.5 - 3.5 * math.cos(2 * math.pi * quarter / page_position.QUARTERS)
        for quarter in range(page_position.QUARTERS)
    ]
    quarters = chance.choices(range(page_position.QUARTERS), weights, k=count)
    times = [
        (
            chance.choice(year)
            + quarter * page_position.QUARTER_MILLISECONDS
            + chance.randrange(page_position.QUARTER_MILLISECONDS)
        )
        for quarter in quarters
    ]
    months, days = tallied(times)
    costs = [_cost(months, days, depth) for depth in range(0, count, PAGE_SIZE * every)]
    return PageCost(max(one.requests for one in costs), max(one.read_units for one in costs))


def _cost(months: list[tuple[str, list[int]]], days: dict[str, list[int]], depth: int) -> PageCost:
    day = page_position.find_day(months, depth)
    assert day
    found = page_position.find_jump(day, days[day.day], SIZE)
    assert found
    older = found.skip + max(0, SIZE - found.newer)
    reads = [_units(entries * _ENTRY) for entries in (found.newer, older) if entries]
    month_rows = _units(sum(200 + 7 * len(counts) for _, counts in months))
    # One request reads the month rows, and another reads the day row and the agent.
    return PageCost(2 + len(reads), month_rows + _DAY_ROW + _AGENT + sum(reads))


def _units(size: int) -> float:
    return math.ceil(size / 4096) / 2
