"""The service `series`, which other extensions get from `extensions.service("series")`."""

from chalicelib.extensions.reports import recent_counts, report, series
from chalicelib.extensions.reports.hours import ANSWER_SECONDS as ANSWER_SECONDS
from chalicelib.extensions.reports.hours import DIMENSIONS as DIMENSIONS
from chalicelib.extensions.reports.hours import NAMES as NAMES
from chalicelib.extensions.reports.hours import OTHER as OTHER
from chalicelib.extensions.reports.hours import PERSON as PERSON
from chalicelib.extensions.reports.hours import SECONDS as SECONDS
from chalicelib.extensions.reports.hours import TIMED as TIMED
from chalicelib.extensions.reports.hours import UNKNOWN as UNKNOWN
from chalicelib.extensions.reports.report import check_size as check_size
from chalicelib.extensions.reports.report import counted_until as counted_until
from chalicelib.extensions.reports.report import table as table
from chalicelib.extensions.reports.report_query import MAX_DAYS as MAX_DAYS
from chalicelib.extensions.reports.report_query import ReportQuery as ReportQuery
from chalicelib.extensions.reports.report_query import zone_from_request as zone_from_request
from chalicelib.extensions.reports.series import INTERVALS as INTERVALS
from chalicelib.extensions.reports.series import ReportPeriod as ReportPeriod
from chalicelib.extensions.reports.series import day_of as day_of

build_report, read_all, build_series = report.build, report.read, series.build
read_recent = recent_counts.read
