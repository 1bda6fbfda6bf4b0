"""An agent's hourly counts, as sums of changes. The module performs no I/O.

A list of counts has a number for each name in `NAMES`. Stored lists are in the same order, so new names must be
appended. Zeros after the deliveries are not stored, so earlier releases can read most lists.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from chalicelib.conversations.counted_changes import CountedChange

# The counts that make a dimension's value frequent.
RANKED = ("loads", "newVisitors", "conversations", "messages", "interactions", "handoffs", "leads")
# The counts of first answers within a number of seconds. Each also includes the faster answers.
ANSWER_SECONDS = {
    "firstAnswersWithin1Minute": 60,
    "firstAnswersWithin5Minutes": 5 * 60,
    "firstAnswersWithin15Minutes": 15 * 60,
    "firstAnswersWithin1Hour": 60 * 60,
    "firstAnswersWithin4Hours": 4 * 60 * 60,
    "firstAnswersWithin1Day": 24 * 60 * 60,
}
# The first answers whose time was counted. Earlier releases stored only `firstAnswers`.
TIMED = "timedFirstAnswers"
NAMES = (
    *RANKED, "seconds", "deliveries", "firstAnswers", "firstAnswerMilliseconds", "ends", "endMilliseconds",
    *ANSWER_SECONDS, TIMED,
)  # fmt: skip
# The counts in reports. Usage also includes webhook deliveries, which have no dimensions.
REPORTED = (*RANKED, "firstAnswers", "ends")
# The averages in reports: the sum, the number by which it is divided, and the sum's units per second.
AVERAGES = {
    "averageSeconds": ("seconds", "conversations", 1),
    "averageFirstAnswerSeconds": ("firstAnswerMilliseconds", "firstAnswers", 1_000),
    "averageEndSeconds": ("endMilliseconds", "ends", 1_000),
}
_DELIVERIES, _ANSWERS = NAMES.index("deliveries"), NAMES.index("firstAnswers")
_WAIT, _FIRST_TIME = NAMES.index("firstAnswerMilliseconds"), NAMES.index("firstAnswersWithin1Minute")
DIMENSIONS = ("origin", "country", "browser", "platform", "language")
# The group of counts by the client who answered or ended a conversation. Only the service `series` has it.
PERSON = "person"
# For each hour and dimension, only the 20 most frequent values are counted separately; the rest are summed as `other`.
# Therefore, neither the number nor the length of the values can make the rows grow without bound.
MAX_VALUES = 20
MAX_BYTES = 40
OTHER, UNKNOWN = "other", "unknown"
SECONDS = 3_600

Groups = dict[str, dict[str, list[int]]]
"""The counts by dimension and value, and by `PERSON` and client id."""


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


def to_store(counts: Sequence[int]) -> list[int]:
    """Return a list of counts without the zeros after the deliveries."""
    last = max(index for index, number in enumerate(counts) if number or index == _DELIVERIES)
    return [*counts[: last + 1]]


def padded(counts: Sequence[int]) -> list[int]:
    """Return a stored list of counts with a number for each name."""
    add(complete := [0] * len(NAMES), counts)
    return complete


def values_of(change: CountedChange) -> list[str]:
    """Return a change's truncated value for each dimension. The value is empty if it is unknown or not a text."""
    texts = (value if isinstance(value := change.values.get(name), str) else "" for name in DIMENSIONS)
    return [text.encode(errors="ignore")[:MAX_BYTES].decode(errors="ignore") for text in texts]


def work_of(change: CountedChange) -> dict[str, list[int]]:
    """Return the counts of a change by the id of the client who caused them. At most one client has any."""
    work = change.values.get(PERSON) or {}
    return {client_id: to_store([counts.get(name, 0) for name in NAMES]) for client_id, counts in work.items()}


def add_up(changes: Iterable[tuple[Sequence[int], Sequence[str], Mapping[str, Sequence[int]]]]) -> HourTotals:
    """Return the sums of changes, whose order does not matter.

    Each change has its counts, its dimension values, and its counts by client id.

    The counts of answers by time are computed here, so changes that an earlier release stored have them, too.
    """
    counts = [0] * len(NAMES)
    groups: Groups = {dimension: {} for dimension in (*DIMENSIONS, PERSON)}
    number = 0
    for change, values, work in changes:
        number += 1
        numbers = _with_times(change)
        add(counts, numbers)
        is_grouped = any(numbers[:_DELIVERIES]) or any(numbers[_DELIVERIES + 1 :])
        for dimension, value in zip(DIMENSIONS, values, strict=True) if is_grouped else ():
            add(groups[dimension].setdefault(value or UNKNOWN, [0] * len(NAMES)), numbers)
        for client_id, own in work.items():
            add(groups[PERSON].setdefault(client_id, [0] * len(NAMES)), _with_times(own))
    frequent = {dimension: most_frequent(by_value, MAX_VALUES) for dimension, by_value in groups.items()}
    return HourTotals(counts, frequent, number)


def _with_times(numbers: Sequence[int]) -> Sequence[int]:
    """Return a change's counts with the counts of its first answers by time."""
    if not any(numbers[_ANSWERS:_WAIT]):
        return numbers
    complete = padded(numbers)
    answers, wait = complete[_ANSWERS], complete[_WAIT]
    within = [answers * (wait <= seconds * 1_000 * answers) for seconds in ANSWER_SECONDS.values()]
    return [*complete[:_FIRST_TIME], *within, answers]


def combine(hourly_counts: Iterable[HourlyCounts]) -> list[HourlyCounts]:
    """Return the sum of several agents' counts, so that a large report holds few numbers in memory."""
    sums: dict[tuple[int, str], list[int]] = {}
    for hour in hourly_counts:
        add(sums.setdefault((hour.start, hour.value), [0] * len(NAMES)), hour.counts)
    return [HourlyCounts(start, value, counts) for (start, value), counts in sums.items()]


def most_frequent(values: Mapping[str, Sequence[int]], limit: int) -> dict[str, list[int]]:
    """Return the counts of the `limit` most frequent values, sorted by value, and the sums of all others as `OTHER`.

    Clients have only counts of their work, so these decide between values that are equally frequent.
    """
    ranked = sorted(values, key=lambda value: (value == OTHER, *_rank(values[value]), value))
    result = {value: [*values[value]] for value in sorted(ranked[:limit], key=lambda value: (value == OTHER, value))}
    for value in ranked[limit:]:
        add(result.setdefault(OTHER, [0] * len(NAMES)), values[value])
    return result


def _rank(counts: Sequence[int]) -> tuple[int, int]:
    """Return the negative frequency and the negative amount of work, so that the highest come first."""
    numbers = dict(zip(NAMES, padded(counts), strict=True))
    return -sum(numbers[name] for name in RANKED), -numbers["firstAnswers"] - numbers["ends"]


def add(counts: list[int], numbers: Iterable[int]) -> None:
    """Add numbers to counts. Earlier releases store fewer numbers, and later releases may store more."""
    for index, number in zip(range(len(counts)), numbers, strict=False):
        counts[index] += number
