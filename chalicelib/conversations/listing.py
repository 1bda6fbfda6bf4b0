"""Which conversations are on page N: arithmetic on an agent's sequence numbers. Pure.

Conversations have the numbers 1 to `high`, except for holes, the numbers of deleted ones. The list is newest first. So
the numbers of a page are known without reading the pages before it.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

PAGE_SIZE = 20  # fixed by §4.2


class Numbers(NamedTuple):
    """The numbers of an agent's conversations: 1 to `high` without `holes`, which are ranges in ascending order."""

    high: int
    holes: Sequence[tuple[int, int]] = ()

    def page(self, page: int) -> list[int]:
        """Return the numbers on page `page` (from 1), newest first; empty after the last page."""
        return self._numbers(self.high, (page - 1) * PAGE_SIZE)

    def below(self, number: int) -> list[int]:
        """Return the next page of numbers below `number`, newest first."""
        return self._numbers(min(self.high, number - 1), 0)

    def _numbers(self, top: int, skip: int) -> list[int]:
        numbers: list[int] = []
        for high, low in self._runs(top):
            skipped = min(skip, high - low + 1)
            skip -= skipped
            wanted = PAGE_SIZE - len(numbers)
            numbers += range(high - skipped, max(low - 1, high - skipped - wanted), -1)
            if len(numbers) == PAGE_SIZE:
                break
        return numbers

    def _runs(self, top: int) -> Iterator[tuple[int, int]]:
        """Yield the runs of numbers between the holes as (high, low), from `top` down."""
        for first, last in reversed(self.holes):
            if first <= top:
                if last < top:
                    yield top, last + 1
                top = min(top, first - 1)
        if top >= 1:
            yield top, 1
