"""Which conversations are on page N. Pure arithmetic over the agent's sequence numbers.

Newest first: the conversations have the numbers `high` down to 1 but for the deleted ones, the holes, so
that a page is known without reading the pages before it.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

PAGE_SIZE = 20


class Numbers(NamedTuple):
    """The numbers of an agent's conversations: 1 to `high` without `holes`, ranges in ascending order."""

    high: int
    holes: Sequence[tuple[int, int]] = ()

    def page(self, page: int) -> list[int]:
        """The numbers on page `page` (from 1), newest first; empty beyond the last page."""
        return self._taken(self.high, (page - 1) * PAGE_SIZE)

    def below(self, number: int) -> list[int]:
        """The numbers of the 20 conversations before the one with `number`, newest first."""
        return self._taken(min(self.high, number - 1), 0)

    def is_last(self, number: int) -> bool:
        """Whether no conversation has a smaller number."""
        return not self.below(number)

    def _taken(self, top: int, skip: int) -> list[int]:
        numbers: list[int] = []
        for high, low in self._runs(top):
            passed = min(skip, high - low + 1)
            skip -= passed
            wanted = PAGE_SIZE - len(numbers)
            numbers += range(high - passed, max(low - 1, high - passed - wanted), -1)
            if len(numbers) == PAGE_SIZE:
                break
        return numbers

    def _runs(self, top: int) -> Iterator[tuple[int, int]]:
        """The runs of numbers between the holes, from `top` down."""
        for first, last in reversed(self.holes):
            if first <= top:
                if last < top:
                    yield top, last + 1
                top = min(top, first - 1)
        if top >= 1:
            yield top, 1
