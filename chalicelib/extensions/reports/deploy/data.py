"""The data of the reports in tables of core: the counts of hours and days. Rows of changes expire within a week."""

from chalicelib.extensions.reports.counts import DayRow
from infra.operator.records import row_prefixes

ROWS = row_prefixes(DayRow)
