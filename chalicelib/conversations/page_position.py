"""Computes where page N of an agent's conversation list begins, from tallies and without I/O.

A tally counts the conversations that were created in a period and still exist. The list is newest first, so adding up
the tallies from the newest period locates the quarter hour in which a page begins. Only that quarter hour's entries are
read one by one, starting at its nearer end.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from chalicelib import clock, ids

QUARTER_MILLISECONDS = 15 * 60 * 1000
QUARTERS = 96  # per day; all periods are in UTC


class Quarter(NamedTuple):
    """A quarter hour: its day, such as `2026-11-22`, and its number within the day, 0 to 95."""

    day: str
    number: int

    @property
    def month(self) -> str:
        """Return the month, such as `2026-11`."""
        return self.day[:7]

    @property
    def day_number(self) -> int:
        """Return the number of the day within the month, 0 to 30."""
        return int(self.day[8:]) - 1

    def start(self) -> int:
        """Return the start of the quarter hour as a Unix time in milliseconds."""
        return clock.start_of_day(self.day) * 1000 + self.number * QUARTER_MILLISECONDS


def quarter_of(created: str) -> Quarter:
    """Return the quarter hour in which a ULID was generated. Raise ValueError for characters outside base 32."""
    milliseconds = ids.timestamp_of(created)
    return Quarter(clock.iso(milliseconds // 1000)[:10], milliseconds // QUARTER_MILLISECONDS % QUARTERS)


class Depth(NamedTuple):
    """A position in the list: a day, and the number of newer conversations on that day."""

    day: str
    newer: int


def find_day(months: Iterable[tuple[str, Sequence[int]]], depth: int) -> Depth | None:
    """Return the day on which the conversation at `depth` began, or None if the tallies do not reach that far.

    `depth` is the number of newer conversations. `months` contains the daily tallies by month, newest month first.
    """
    for month, days in months:
        for number in reversed(range(len(days))):
            if depth < days[number]:
                return Depth(f"{month}-{number + 1:02}", depth)
            depth -= days[number]
    return None


class Jump(NamedTuple):
    """How to read a page, starting from `boundary`, a Unix time in milliseconds.

    The page begins with the `newer` entries that are newer than the boundary. If `newer` is 0, the page begins after
    the first `skip` entries that are older than the boundary.
    """

    boundary: int
    newer: int
    skip: int


def find_jump(depth: Depth, quarters: Sequence[int], size: int) -> Jump:
    """Return the cheapest way to read a page of `size` entries.

    The day's tallies may differ from the month's tallies, because a recount may run between the two reads. If the day's
    tallies are too low, the page begins with the newest entry before that day.
    """
    newer = depth.newer
    for number in reversed(range(len(quarters))):
        within = quarters[number]
        if newer < within:
            start = Quarter(depth.day, number).start()
            older = within - newer  # the quarter hour's entries, starting with the page's first entry
            if newer + size <= older:
                return Jump(start + QUARTER_MILLISECONDS, 0, newer)
            return Jump(start, older, 0)
        newer -= within
    return Jump(clock.start_of_day(depth.day) * 1000, 0, 0)
