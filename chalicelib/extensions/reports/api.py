"""What other extensions may use: the result of `extensions.service("series")`."""

from chalicelib.extensions.reports import report, series
from chalicelib.extensions.reports.counts import read as read
from chalicelib.extensions.reports.hours import DIMENSIONS as DIMENSIONS
from chalicelib.extensions.reports.hours import NAMES as NAMES
from chalicelib.extensions.reports.hours import SECONDS as SECONDS
from chalicelib.extensions.reports.hours import UNKNOWN as UNKNOWN
from chalicelib.extensions.reports.report import require_few as require_few
from chalicelib.extensions.reports.report import table as table
from chalicelib.extensions.reports.report_query import MAX_DAYS as MAX_DAYS
from chalicelib.extensions.reports.report_query import ReportQuery as ReportQuery
from chalicelib.extensions.reports.report_query import requested_zone as requested_zone
from chalicelib.extensions.reports.series import INTERVALS as INTERVALS
from chalicelib.extensions.reports.series import Period as Period
from chalicelib.extensions.reports.series import day_of as day_of

build_report, read_all, build_series = report.build, report.read, series.build
