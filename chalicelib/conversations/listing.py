"""Which conversations are on page N. Pure arithmetic over the agent's sequence numbers.

Newest first: the conversations have the numbers `high` down to 1, so that a page is known without
reading the pages before it.
"""

PAGE_SIZE = 20


def page_numbers(high: int, page: int) -> range:
    """The numbers on page `page` (from 1), newest first; empty beyond the last page."""
    return numbers_below(high - (page - 1) * PAGE_SIZE + 1)


def numbers_below(number: int) -> range:
    """The numbers of the 20 conversations before the one with `number`, newest first."""
    return range(number - 1, max(number - 1 - PAGE_SIZE, 0), -1)
