"""The position at which page N of an agent's conversations begins, computed from tallies without I/O.

A tally is the number of conversations that were created in a period and still exist. The list is newest first, so the
sum of the newest tallies locates the quarter hour in which a page begins. Only that quarter hour is read entry by
entry, from its nearer end.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from chalicelib import clock, ids

QUARTER_MILLISECONDS = 15 * 60 * 1000
QUARTERS = 96  # per day; all periods are in UTC


class Quarter(NamedTuple):
    """A quarter hour: its day as `2026-11-22`, and its number within the day, 0 to 95."""

    day: str
    number: int

    @property
    def month(self) -> str:
        """Return the month as `2026-11`."""
        return self.day[:7]

    @property
    def day_number(self) -> int:
        """Return the number of the day within the month, 0 to 30."""
        return int(self.day[8:]) - 1

    def start(self) -> int:
        """Return the first millisecond, in Unix time."""
        return clock.start_of_day(self.day) * 1000 + self.number * QUARTER_MILLISECONDS


def quarter_of(created: str) -> Quarter:
    """Return the quarter hour of a ULID. Raise ValueError for characters not in Crockford's base 32."""
    milliseconds = ids.timestamp_of(created)
    return Quarter(clock.iso(milliseconds // 1000)[:10], milliseconds // QUARTER_MILLISECONDS % QUARTERS)


class Depth(NamedTuple):
    """A position in the list: a day, and the number of newer conversations of that day."""

    day: str
    newer: int


def find_day(months: Iterable[tuple[str, Sequence[int]]], depth: int) -> Depth | None:
    """Return the day of the conversation that has `depth` newer ones, or None if the tallies do not reach it.

    `months` contains the tallies of each day by month, newest month first.
    """
    for month, days in months:
        for number in reversed(range(len(days))):
            if depth < days[number]:
                return Depth(f"{month}-{number + 1:02}", depth)
            depth -= days[number]
    return None


class Jump(NamedTuple):
    """The way to read a page from `boundary`, a Unix time in milliseconds.

    The page begins with the `newer` entries that are newer than the boundary. If `newer` is 0, it begins after the
    first `skip` entries that are older.
    """

    boundary: int
    newer: int
    skip: int


def find_jump(depth: Depth, quarters: Sequence[int], size: int) -> Jump:
    """Return the cheapest way to read a page of `size` entries.

    The tallies of the day may differ from the tallies of the month, because a recount may run between the two reads. If
    they are too low, the page begins at the start of the day.
    """
    newer = depth.newer
    for number in reversed(range(len(quarters))):
        within = quarters[number]
        if newer < within:
            start = Quarter(depth.day, number).start()
            older = within - newer  # entries of the quarter hour from the page's first entry on
            if newer + size <= older:
                return Jump(start + QUARTER_MILLISECONDS, 0, newer)
            return Jump(start, older, 0)
        newer -= within
    return Jump(clock.start_of_day(depth.day) * 1000, 0, 0)
