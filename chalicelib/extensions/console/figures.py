"""Figures that are computed from the stored counts: a heat map by weekday and hour, and the handoff rate."""

from collections.abc import Iterable
from typing import Any, NamedTuple

from chalicelib import extensions
from chalicelib.extensions.console import periods
from chalicelib.storage import Document

_REPORTS: Any = extensions.service("series")
_LEVELS = 4


class Cell(NamedTuple):
    """A weekday's hour: its number of conversations, and its shade from 0 (no conversations) to 4 (the most)."""

    conversations: int
    level: int


def heat_map(hourly_counts: Iterable[Any], period: Any) -> list[list[Cell]]:
    """Return the number of conversations that began in each hour of the week, in the period's time zone.

    The list contains the weekdays from Monday, each with 24 cells. If the zone's UTC offset is not a whole number of
    hours, a UTC hour counts for the local hour in which it starts.
    """
    index = _REPORTS.NAMES.index("conversations")
    sums = [[0] * 24 for _ in range(7)]
    for hour in hourly_counts:
        if hour.start >= period.start:
            local = periods.local_time(hour.start, period.zone)
            sums[local.weekday()][local.hour] += hour.counts[index]
    most = max(map(max, sums)) or 1
    return [[Cell(count, -(-count * _LEVELS // most)) for count in day] for day in sums]


def handoff_rates(report: Document) -> dict[str, int | None]:
    """Return the handoffs per 100 conversations in the period (`totals`) and the period before it (`previous`).

    A rate is None if its period has no conversations.
    """
    return {name: _rate(report[name]) for name in ("totals", "previous")}


def _rate(totals: Document) -> int | None:
    conversations = totals["conversations"]
    return round(100 * totals["handoffs"] / conversations) if conversations else None
