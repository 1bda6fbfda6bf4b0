"""The rows of feeds in a core table: events' numbers, and marks for events."""

from chalicelib.extensions.feeds.feed import FeedRow, MarkRow
from infra.operator.records import row_prefixes

ROWS = row_prefixes(FeedRow, MarkRow)
