"""The usual time to a first answer, from the counts of answers within some times. The module performs no I/O.

One late answer can raise the average a lot, but hardly changes the median.
"""

from typing import Any

from chalicelib import extensions
from chalicelib.storage import Document

_REPORTS: Any = extensions.service("series")
MEDIAN, AVERAGE, QUICK = "medianFirstAnswerSeconds", "averageFirstAnswerSeconds", "quickAnswerRate"
ABOUT = "aboutFirstAnswerSeconds"
_QUICK = "firstAnswersWithin15Minutes"
# The assumed longest time, in seconds, of answers that took more than a day.
_LONGEST = 7 * 24 * 60 * 60
# The units to which estimates are rounded, with the seconds up to which each applies.
_UNITS = ((60, 5), (600, 10), (3_600, 60), (86_400, 600), (_LONGEST, 3_600))


def of_entry(entry: Document) -> Document:
    """Return the median time to the first answer, and the rounded percentage of answers within 15 minutes.

    `ABOUT` is the average, rounded as an estimated median, which it accompanies. Return none of them without answers,
    or if an earlier release counted some of the answers without these times.
    """
    timed = entry.get(_REPORTS.TIMED)
    if not timed or timed < entry["firstAnswers"]:
        return {}
    median, average = _median(entry, timed), int(entry[AVERAGE])
    about = average if median == average else _rounded(average)
    return {MEDIAN: median, ABOUT: about, QUICK: round(100 * entry[_QUICK] / timed)}


def known(names: tuple[str, ...], totals: Document) -> tuple[str, ...]:
    """Return a period's figures without the average time to the first answer, or with it in place of the others.

    It stands for the others if only the average is known.
    """
    if MEDIAN in totals or AVERAGE not in totals:
        return tuple(name for name in names if name != AVERAGE)
    shown = (AVERAGE if name == MEDIAN else name for name in names if name != QUICK)
    return tuple(dict.fromkeys(shown))


def _median(entry: Document, timed: int) -> int:
    """Return the median. It is the average for up to two answers, and estimated for more.

    The estimate assumes that the answers between two times are evenly distributed. If all answers are between the same
    times, the average is the better estimate.
    """
    edges = [(0, 0), *((end, entry[name]) for name, end in _REPORTS.ANSWER_SECONDS.items()), (_LONGEST, timed)]
    index = next(index for index, (_, answers) in enumerate(edges) if answers * 2 >= timed)
    (start, below), (end, until) = edges[index - 1], edges[index]
    if timed <= 2 or until - below == timed:
        return int(entry[AVERAGE])
    return _rounded(start + (end - start) * (timed / 2 - below) / (until - below))


def _rounded(seconds: float) -> int:
    unit = next(unit for limit, unit in _UNITS if seconds <= limit)
    return max(round(seconds / unit), 1) * unit
