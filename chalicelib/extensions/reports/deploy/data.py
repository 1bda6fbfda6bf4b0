"""The report rows in core tables: counts per hour and day. Change rows expire within a week."""

from chalicelib.extensions.reports.counts import DayRow
from infra.operator.records import row_prefixes

ROWS = row_prefixes(DayRow)
