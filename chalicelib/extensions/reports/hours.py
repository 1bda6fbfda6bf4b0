"""An agent's hourly counts, as sums of changes. The module performs no I/O.

A list of counts has a number for each name in `NAMES`. Stored lists are in the same order, so new names must be
appended.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from chalicelib.conversations.counted_changes import CountedChange

# The counts in reports. Usage also includes webhook deliveries, which have no dimensions.
REPORTED = ("loads", "newVisitors", "conversations", "messages", "interactions", "handoffs", "leads")
NAMES = (*REPORTED, "seconds", "deliveries")
_GROUPED = NAMES.index("deliveries")
DIMENSIONS = ("origin", "country", "browser", "platform", "language")
# For each hour and dimension, only the 20 most frequent values are counted separately; the rest are summed as `other`.
# Therefore, neither the number nor the length of the values can make the rows grow without bound.
MAX_VALUES = 20
MAX_BYTES = 40
OTHER, UNKNOWN = "other", "unknown"
SECONDS = 3_600

Groups = dict[str, dict[str, list[int]]]
"""The counts by dimension and value."""


class HourlyCounts(NamedTuple):
    """The counts for the hour that starts at the Unix second `start`, or for one dimension value in that hour."""

    start: int
    value: str
    counts: list[int]


class HourTotals(NamedTuple):
    """An hour's counts in total, its counts by dimension and value, and the number of its changes."""

    counts: list[int]
    groups: Groups
    changes: int


def numbers_of(change: CountedChange) -> list[int]:
    """Return a change's counts in the same order as `NAMES`."""
    return [change.counts.get(name, 0) for name in NAMES]


def values_of(change: CountedChange) -> list[str]:
    """Return a change's truncated value for each dimension. The value is empty if it is unknown or not a text."""
    texts = (value if isinstance(value := change.values.get(name), str) else "" for name in DIMENSIONS)
    return [text.encode(errors="ignore")[:MAX_BYTES].decode(errors="ignore") for text in texts]


def add_up(changes: Iterable[tuple[Sequence[int], Sequence[str]]]) -> HourTotals:
    """Return the sums of changes. Each change has its counts and its dimension values; their order does not matter."""
    counts = [0] * len(NAMES)
    groups: Groups = {dimension: {} for dimension in DIMENSIONS}
    number = 0
    for numbers, values in changes:
        number += 1
        add(counts, numbers)
        for dimension, value in zip(DIMENSIONS, values, strict=True) if any(numbers[:_GROUPED]) else ():
            add(groups[dimension].setdefault(value or UNKNOWN, [0] * len(NAMES)), numbers)
    frequent = {dimension: most_frequent(by_value, MAX_VALUES) for dimension, by_value in groups.items()}
    return HourTotals(counts, frequent, number)


def combine(hourly_counts: Iterable[HourlyCounts]) -> list[HourlyCounts]:
    """Return the sum of several agents' counts, so that a large report holds few numbers in memory."""
    sums: dict[tuple[int, str], list[int]] = {}
    for hour in hourly_counts:
        add(sums.setdefault((hour.start, hour.value), [0] * len(NAMES)), hour.counts)
    return [HourlyCounts(start, value, counts) for (start, value), counts in sums.items()]


def most_frequent(values: Mapping[str, Sequence[int]], limit: int) -> dict[str, list[int]]:
    """Return the counts of the `limit` most frequent values, sorted by value, and the sums of all others as `OTHER`."""
    ranked = sorted(values, key=lambda value: (value == OTHER, -sum(values[value][: len(REPORTED)]), value))
    result = {value: [*values[value]] for value in sorted(ranked[:limit], key=lambda value: (value == OTHER, value))}
    for value in ranked[limit:]:
        add(result.setdefault(OTHER, [0] * len(NAMES)), values[value])
    return result


def add(counts: list[int], numbers: Iterable[int]) -> None:
    """Add numbers to counts. Lists from earlier releases, which had fewer names, may be shorter."""
    for index, number in enumerate(numbers):
        counts[index] += number
