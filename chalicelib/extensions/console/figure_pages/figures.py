"""Figures that are computed from the stored counts: heat maps by weekday and hour, and rates."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

from chalicelib import extensions
from chalicelib.extensions.console.figure_pages import answer_times
from chalicelib.extensions.console.presentation import periods
from chalicelib.storage import Document

if TYPE_CHECKING:
    from chalicelib.extensions.console.presentation.rendering import Texts

_REPORTS: Any = extensions.service("series")
_LEVELS = 4
MAIN = ("conversations", "unassistedRate", "medianFirstAnswerSeconds", "leads")
"""The figures with a tile on the analytics page."""
NAMES = (
    *MAIN, "messages", "interactions", "newVisitors", "loads", "leadRate", "handoffs", "handoffRate",
    "quickAnswerRate", "averageFirstAnswerSeconds", "averageSeconds", "averageEndSeconds",
)  # fmt: skip
"""All figures of the analytics page, in their order."""
RATES = {"handoffRate": "handoffs", "leadRate": "leads", "unassistedRate": "unassisted"}
"""The counts that rates compare with the number of conversations."""


class Cell(NamedTuple):
    """A weekday's hour: its count, and its shade from 0 (none) to 4 (the most)."""

    number: int
    level: int


def hourly_count(name: str) -> str:
    """Return a figure's count that is stored by hour: itself, or what a rate compares, otherwise the conversations."""
    count = RATES.get(name, name)
    return count if count in _REPORTS.NAMES else "conversations"


def heat_map(hourly_counts: Iterable[Any], period: Any, name: str) -> list[list[Cell]]:
    """Return a count of each hour of the week, in the period's time zone.

    The list contains the weekdays from Monday, each with 24 cells. If the zone's UTC offset is not a whole number of
    hours, a UTC hour counts for the local hour in which it starts.
    """
    index = _REPORTS.NAMES.index(name)
    sums = [[0] * 24 for _ in range(7)]
    for hour in hourly_counts:
        if hour.start >= period.start:
            local = periods.local_time(hour.start, period.zone)
            sums[local.weekday()][local.hour] += hour.counts[index]
    most = max(map(max, sums)) or 1
    return [[Cell(count, -(-count * _LEVELS // most)) for count in day] for day in sums]


def with_rates(entry: Document) -> Document:
    """Return an interval's or a period's counts, with its rates per 100 conversations and its times to first answers.

    `unassisted` is the number of conversations minus the number of handoffs. It approximates the number of
    conversations without a handoff, because a conversation can have several handoffs, also in a later period. Rates
    have one decimal. Without conversations, there are no rates.
    """
    conversations = entry["conversations"]
    counts = {**entry, "unassisted": max(conversations - entry["handoffs"], 0)}
    rates = {rate: round(100 * counts[count] / conversations, 1) for rate, count in RATES.items() if conversations}
    return {**counts, **rates, **answer_times.of_entry(entry)}


def for_charts(report: Document, earlier: Document, interval: str, period: Any, t: "Texts") -> Document:
    """Return the template variables for the charts of a period's counts, averages and rates, and the period before."""
    series, before = (
        [*map(with_rates, periods.with_labels(one["series"], interval, period.zone, t))] for one in (report, earlier)
    )
    return {
        "totals": with_rates(report["totals"]),
        "previous": with_rates(report["previous"]),
        "series": series,
        "earlier": before,
        "charted_count": periods.charted_count(report["series"]),
        "finished_count": periods.finished_count(report["series"], period.end),
        "passed_part": periods.passed_part(report["series"], period.end),
    }
