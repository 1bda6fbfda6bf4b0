"""The counts of an agent per hour, as sums of changes. Pure.

A list of counts has a number for each name in `NAMES`. Stored lists have the same order, so a new name is added at the
end.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from chalicelib.conversations.counted_changes import CountedChange

# The counts of reports. Usage also has the deliveries of webhooks, which have no dimension.
REPORTED = ("loads", "newVisitors", "conversations", "messages", "interactions", "handoffs", "leads")
NAMES = (*REPORTED, "seconds", "deliveries")
_GROUPED = NAMES.index("deliveries")
DIMENSIONS = ("origin", "country", "browser", "platform", "language")
# For each hour and dimension, only the 20 most frequent values are counted separately; the rest are summed as `other`.
# So neither the number of values nor their length can make the rows grow without bound.
MAX_VALUES = 20
MAX_BYTES = 40
OTHER, UNKNOWN = "other", "unknown"
SECONDS = 3_600

Groups = dict[str, dict[str, list[int]]]
"""The counts of each value of each dimension."""


class HourlyCounts(NamedTuple):
    """The counts of the hour that begins at the Unix second `start`, of one value if they are read by a dimension."""

    start: int
    value: str
    counts: list[int]


class HourTotals(NamedTuple):
    """The counts of an hour, and the counts by the values of each dimension."""

    counts: list[int]
    groups: Groups


def numbers_of(change: CountedChange) -> list[int]:
    """Return the counts of a change in the order of `NAMES`."""
    return [change.counts.get(name, 0) for name in NAMES]


def values_of(change: CountedChange) -> list[str]:
    """Return a value for each of `DIMENSIONS`, truncated to its limit; empty if it is unknown or not a text."""
    texts = (value if isinstance(value := change.values.get(name), str) else "" for name in DIMENSIONS)
    return [text.encode(errors="ignore")[:MAX_BYTES].decode(errors="ignore") for text in texts]


def add_up(changes: Iterable[tuple[Sequence[int], Sequence[str]]]) -> HourTotals:
    """Return the sums of changes, each with its numbers and its values of the dimensions, in any order."""
    counts = [0] * len(NAMES)
    groups: Groups = {dimension: {} for dimension in DIMENSIONS}
    for numbers, values in changes:
        add(counts, numbers)
        for dimension, value in zip(DIMENSIONS, values, strict=True) if any(numbers[:_GROUPED]) else ():
            add(groups[dimension].setdefault(value or UNKNOWN, [0] * len(NAMES)), numbers)
    return HourTotals(
        counts, {dimension: most_frequent(by_value, MAX_VALUES) for dimension, by_value in groups.items()}
    )


def combine(hourly_counts: Iterable[HourlyCounts]) -> list[HourlyCounts]:
    """Return the counts of several agents as those of one agent, so that a large report keeps few numbers at a time."""
    sums: dict[tuple[int, str], list[int]] = {}
    for hour in hourly_counts:
        add(sums.setdefault((hour.start, hour.value), [0] * len(NAMES)), hour.counts)
    return [HourlyCounts(start, value, counts) for (start, value), counts in sums.items()]


def most_frequent(values: Mapping[str, Sequence[int]], limit: int) -> dict[str, list[int]]:
    """Return the counts of the `limit` most frequent values, ordered by value, and those of all others as `OTHER`."""
    ranked = sorted(values, key=lambda value: (value == OTHER, -sum(values[value][: len(REPORTED)]), value))
    result = {value: [*values[value]] for value in sorted(ranked[:limit], key=lambda value: (value == OTHER, value))}
    for value in ranked[limit:]:
        add(result.setdefault(OTHER, [0] * len(NAMES)), values[value])
    return result


def add(counts: list[int], numbers: Iterable[int]) -> None:
    """Add numbers to counts. The list of an earlier release, which had fewer names, is shorter."""
    for index, number in enumerate(numbers):
        counts[index] += number
