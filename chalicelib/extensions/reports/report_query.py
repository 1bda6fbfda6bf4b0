"""A report query: its period, interval and grouping dimension."""

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from chalicelib import clock, errors
from chalicelib.extensions.reports import hours, series
from chalicelib.http import current_request, parameters

if TYPE_CHECKING:
    from datetime import tzinfo

NAMES = ("from", "to", "interval", "by", "tz")
_DEFAULT_SECONDS = 30 * 24 * 60 * 60
MAX_DAYS = 366
# The maximum number of intervals in a series, without and with groups.
MAX_INTERVALS, MAX_GROUPED = 750, 100
_MAX_SECONDS = 99_999_999_999
_QUALITY = re.compile(r"0(\.[0-9]{0,3})?|1(\.0{0,3})?")


class TooManyAgents(errors.Conflict):
    """The workspace or organisation has too many agents for one report on the period."""

    code = "TOO_MANY_AGENTS"
    sentence = "The report covers too many agents."


class ReportQuery(NamedTuple):
    """The current and previous periods, the interval, and the dimension (None if the report is not grouped)."""

    period: series.ReportPeriod
    before: series.ReportPeriod
    interval: str
    by: str | None

    @classmethod
    def from_request(cls) -> "ReportQuery":
        """Return the request's report query. The default is the last 30 days, by UTC day. Raise Invalid."""
        bounds(hours.SECONDS)
        period = _period(*_complete(parameters.seconds("from"), parameters.seconds("to")), zone_from_request())
        interval, by = (
            parameters.choice("interval", series.INTERVALS) or "day",
            parameters.choice("by", hours.DIMENSIONS),
        )
        limit = MAX_GROUPED if by else MAX_INTERVALS
        if len([*period.intervals(interval)]) > limit:
            raise errors.Invalid.member("interval", f"must divide the period into at most {limit} intervals")
        return cls(period, period.before(), interval, by)

    def warnings(self) -> list[errors.MemberIssue]:
        """Return the warning for a time zone whose days do not start on the hour in UTC."""
        is_exact = self.period.is_exact() and self.before.is_exact()
        return [] if is_exact else [{"path": "tz", "message": series.INEXACT}]


def prefers_csv() -> bool:
    """Return whether `Accept` contains CSV with at least the quality value of JSON (RFC 9110, section 12.5.1)."""
    qualities: dict[str, float] = {}
    for accepted in current_request.request().headers.get("accept", "").lower().split(","):
        media, *options = (part.strip() for part in accepted.split(";"))
        quality = next((part[2:] for part in options if part.startswith("q=")), "1")
        qualities[media] = float(quality) if _QUALITY.fullmatch(quality) else 0
    of_json = qualities.get("application/json", qualities.get("*/*", 0))
    return 0 < qualities.get("text/csv", 0) >= of_json


def bounds(unit: int) -> tuple[int, int]:
    """Return the requested period, by default the last 30 days, extended to whole units of `unit` seconds.

    Raise Invalid, for example for a period of more than 366 days.
    """
    return widened(parameters.seconds("from"), parameters.seconds("to"), unit, "from")


def widened(since: int | None, until: int | None, unit: int, path: str) -> tuple[int, int]:
    """Return a period as `bounds` does. `path` is the start's path in the request."""
    since, until = _complete(since, until)
    start, end = series.widen(since, until, unit)
    if since >= until or end - start > MAX_DAYS * 24 * 60 * 60:
        raise errors.Invalid.member(path, f"must be before to, by at most {MAX_DAYS} days")
    return start, end


def seconds_in(moment: Any, path: str) -> int | None:
    """Return the Unix seconds for a time in ISO 8601 or in Unix seconds. Raise Invalid for any other JSON value."""
    if moment is None:
        return None
    is_number = isinstance(moment, int | float) and not isinstance(moment, bool)
    try:
        unix = int(moment) if is_number else clock.parse_iso(moment)
    except (ValueError, TypeError, AttributeError):
        unix = -1
    if not 0 <= unix <= _MAX_SECONDS:
        raise errors.Invalid.member(path, "must be a time in ISO 8601 or in Unix seconds")
    return unix


def _complete(since: int | None, until: int | None) -> tuple[int, int]:
    """Return both edges of a period. The default is the last 30 days."""
    until = clock.seconds() if until is None else until
    return max(until - _DEFAULT_SECONDS, 0) if since is None else since, until


def _period(since: int, until: int, zone: "tzinfo") -> series.ReportPeriod:
    try:
        period = series.ReportPeriod.covering(since, until, zone)
        period.before()
    except (ValueError, OverflowError) as error:
        raise errors.Invalid.member("tz", "must be the name of a time zone, such as Europe/Amsterdam") from error
    return period


def zone_from_request(default: str = "UTC") -> "tzinfo":
    """Return the time zone in the query parameter `tz`, or the default zone without the parameter. Raise Invalid."""
    name = current_request.query_value("tz")
    try:
        return clock.time_zone(default if name is None else name)
    except ValueError as error:
        raise errors.Invalid.member("tz", str(error)) from error
