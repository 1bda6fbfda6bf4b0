"""The bars of a chart, which compare an agent's or a dimension's counts."""

from collections.abc import Iterable
from typing import NamedTuple

_MAX_BARS = 8


class Bar(NamedTuple):
    """A bar: its name, its total, and the link to the records that it counts, or an empty string."""

    name: str
    total: int
    link: str = ""


def largest(bars: Iterable[Bar]) -> list[Bar]:
    """Return at most eight bars with a total, the highest first."""
    return sorted((bar for bar in bars if bar.total), key=lambda bar: (-bar.total, bar.name))[:_MAX_BARS]
