"""What happened at an agent in an hour, as sums of changes. Pure.

A list of counts has a number for each name in `NAMES`. Stored lists have this order too: a new name goes to the end.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

# Those of reports. Usage also has the deliveries of webhooks, which no dimension divides.
REPORTED = ("loads", "newVisitors", "conversations", "messages", "interactions", "handoffs", "leads")
NAMES = (*REPORTED, "seconds", "deliveries")
_GROUPED = NAMES.index("deliveries")
DIMENSIONS = ("origin", "country", "browser", "platform", "language")
# Of each dimension and hour, the values with the most changes are counted apart, and all others together. So neither
# the number of values nor their length can make the rows grow without bound.
MAX_VALUES = 20
MAX_BYTES = 40
OTHER, UNKNOWN = "other", "unknown"
SECONDS = 3_600

Groups = dict[str, dict[str, list[int]]]
"""The counts of each value of each dimension."""


class Happened(NamedTuple):
    """What a change counts: numbers by name, and the values of dimensions by name.

    `agent` is the partition key of the agent, `version_tag` the tag of the write, which also says when it was.
    `caused_at` is the Unix second of an earlier change that caused this one, None without one.
    """

    agent: str
    version_tag: str
    counts: Mapping[str, int]
    values: Mapping[str, Any]
    caused_at: int | None = None

    def numbers(self) -> list[int]:
        """The counts in the order of `NAMES`."""
        return [self.counts.get(name, 0) for name in NAMES]

    def places(self) -> list[str]:
        """A value for each of `DIMENSIONS`, cut to its limit; empty if it is not known, or no text."""
        texts = (value if isinstance(value := self.values.get(name), str) else "" for name in DIMENSIONS)
        return [text.encode(errors="ignore")[:MAX_BYTES].decode(errors="ignore") for text in texts]


class Hour(NamedTuple):
    """The counts of an hour, given by its first Unix second; of one value if they are read by a dimension."""

    start: int
    value: str
    counts: list[int]


class Sums(NamedTuple):
    """The counts of an hour, and the same by the values of each dimension."""

    counts: list[int]
    groups: Groups


def add_up(changes: Iterable[tuple[Sequence[int], Sequence[str]]]) -> Sums:
    """The sums of changes, given as the numbers and places of each, in any order."""
    counts = [0] * len(NAMES)
    groups: Groups = {dimension: {} for dimension in DIMENSIONS}
    for numbers, places in changes:
        add(counts, numbers)
        for dimension, value in zip(DIMENSIONS, places, strict=True) if any(numbers[:_GROUPED]) else ():
            add(groups[dimension].setdefault(value or UNKNOWN, [0] * len(NAMES)), numbers)
    return Sums(counts, {dimension: most_frequent(values, MAX_VALUES) for dimension, values in groups.items()})


def combine(found: Iterable[Hour]) -> list[Hour]:
    """The counts of several agents as those of one, so that a report of many agents keeps few numbers at a time."""
    sums: dict[tuple[int, str], list[int]] = {}
    for one in found:
        add(sums.setdefault((one.start, one.value), [0] * len(NAMES)), one.counts)
    return [Hour(start, value, counts) for (start, value), counts in sums.items()]


def most_frequent(values: Mapping[str, Sequence[int]], limit: int) -> dict[str, list[int]]:
    """The counts of the `limit` values with the most of them, ordered by value; then of all others, as `OTHER`."""
    ranked = sorted(values, key=lambda value: (value == OTHER, -sum(values[value][: len(REPORTED)]), value))
    kept = {value: [*values[value]] for value in sorted(ranked[:limit], key=lambda value: (value == OTHER, value))}
    for value in ranked[limit:]:
        add(kept.setdefault(OTHER, [0] * len(NAMES)), values[value])
    return kept


def add(counts: list[int], numbers: Iterable[int]) -> None:
    """Add numbers to counts. Those of a release that knew fewer names are shorter."""
    for index, number in enumerate(numbers):
        counts[index] += number
