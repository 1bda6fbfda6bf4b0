"""Periods that a person selects on a page: the last few days or a date range, in a time zone."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import date, datetime, timedelta, timezone, tzinfo
from typing import Any

from chalicelib import clock, errors, extensions
from chalicelib.extensions.console.presentation import template_filters
from chalicelib.http import current_request

_REPORTS: Any = extensions.service("series")  # None if the reports are disabled; only `leads` works then
LAST_DAYS = (7, 30, 90)
# The maximum number of entries in a chart, and of rows in the table behind it.
MAX_INTERVALS = 400
_DEFAULT_DAYS = 30
_YEAR = timedelta(days=365)
_MONTH = timedelta(days=31)  # after the first day of a month, this is in the next month
THIS_MONTH, LAST_MONTH = "this_month", "last_month"
MONTHS = (THIS_MONTH, LAST_MONTH)
"""The values of `days` that select a calendar month in the time zone. This month ends today."""
CUSTOM = "custom"
"""The value of `days` with which the dates `from` and `to` select the period. Without `days`, they also do."""


class InvalidPeriod(errors.Invalid):
    """A form field is invalid. The page shows the text `wrong.<field>`."""

    def __init__(self, field: str) -> None:
        super().__init__(f"The field {field} is invalid.")
        self.field = field


def from_request(zone_name: str, groupings: Sequence[str]) -> Any:
    """Return the request's report query. `zone_name` is its time zone by default. Raise InvalidPeriod.

    `groupings` are the values that the parameter `by` may have. If the period has more than 400 intervals, the query
    has longer ones.
    """
    try:
        zone = _REPORTS.zone_from_request(zone_name)
    except errors.Invalid as error:
        raise InvalidPeriod("tz") from error
    interval, by = current_request.query_value("interval") or "day", current_request.query_value("by") or None
    if interval not in _REPORTS.INTERVALS or by not in (None, *groupings):
        raise InvalidPeriod("interval")
    period = _period(current_request.query_value("days") or "", zone)
    longer = _REPORTS.INTERVALS[_REPORTS.INTERVALS.index(interval) :]
    possible = next(one for one in longer if len([*period.intervals(one)]) <= MAX_INTERVALS)
    return _REPORTS.ReportQuery(period, _before(period), possible, by)


def recent_choice(default: int) -> str:
    """Return the requested choice for `chosen`. An unknown one, or none, is the default number of days."""
    choice = current_request.query_value("days") or ""
    return choice if choice in (*map(str, LAST_DAYS), *MONTHS) else str(default)


def chosen(choice: str, zone: tzinfo) -> tuple[Any, Any]:
    """Return the period of a number of last days or of one of `MONTHS`, and the previous period."""
    period = _period(choice, zone) if choice in MONTHS else last_days(int(choice), zone)
    return period, _before(period)


def last_days(days: int, zone: tzinfo) -> Any:
    """Return the period of the last days in a time zone, including today."""
    today = local_time(clock.seconds(), zone).date()
    start, end = _midnight(today - timedelta(days=days - 1), zone), _midnight(today + timedelta(days=1), zone)
    return _REPORTS.ReportPeriod.covering(start, end, zone)


def days_from_request() -> int:
    """Return the requested number of last days, by default 30. Raise InvalidPeriod."""
    days = current_request.query_value("days") or str(_DEFAULT_DAYS)
    if days not in map(str, LAST_DAYS):
        raise InvalidPeriod("days")
    return int(days)


def has_dates() -> bool:
    """Return whether the dates `from` and `to` select the period, rather than the number of last days."""
    days, *dates = map(current_request.query_value, ("days", "from", "to"))
    return days == CUSTOM or (not days and any(dates))


def bounds_from_request() -> tuple[int | None, int | None]:
    """Return the bounds of the requested UTC days in Unix seconds, or None for an empty date. Raise InvalidPeriod."""
    return bounds(current_request.query_value("from"), current_request.query_value("to"))


def bounds(first_day: str | None, last_day: str | None, zone: tzinfo = timezone.utc) -> tuple[int | None, int | None]:
    """Return the bounds of these days in Unix seconds, or None for an empty date. Raise InvalidPeriod."""
    first, last = _parse("from", first_day), _parse("to", last_day)
    if first and last and first > last:
        raise InvalidPeriod("from")
    since = _midnight(first, zone) if first else None
    return since, _midnight(last + timedelta(days=1), zone) if last else None


def with_dates(query: dict[str, str]) -> dict[str, str]:
    """Return a query with the dates `from` and `to`. By default, it is this month until today, in UTC."""
    today = _today()
    if not query["from"] and not query["to"]:
        return {**query, "from": today.replace(day=1).isoformat(), "to": today.isoformat()}
    return {**query, "to": query["to"] or today.isoformat()}


def recent_periods() -> dict[str, dict[str, str]]:
    """Return the dates of this month, the last month and the last 30 and 90 UTC days, by the keys of their texts."""
    today = _today()
    days = {f"last_{number}_days": (today - timedelta(days=number - 1), today) for number in (30, 90)}
    return {
        name: {"from": first.isoformat(), "to": last.isoformat()}
        for name, (first, last) in (_months(today) | days).items()
    }


def neighbouring_months(query: dict[str, str]) -> dict[str, dict[str, str]]:
    """Return the dates of the months before and after a period within one month, by the keys of their texts.

    The months are in the last year, and end today at the latest. Return no dates for a period that does not begin with
    its month.
    """
    with suppress(InvalidPeriod):
        first, last = _parse("from", query["from"]), _parse("to", query["to"])
        if first and last and first.day == 1 and (first.year, first.month) == (last.year, last.month):
            before, after = first - timedelta(days=1), (first + _MONTH).replace(day=1)
            end = min(_today(), (after + _MONTH).replace(day=1) - timedelta(days=1))
            months = {"month_before": (before.replace(day=1), before), "month_after": (after, end)}
            return {
                text: {"from": start.isoformat(), "to": until.isoformat()}
                for text, (start, until) in months.items()
                if _today() - _YEAR < start <= until
            }
    return {}


def with_labels(
    entries: Sequence[dict[str, Any]], interval: str, zone: tzinfo, t: Callable[[str], str]
) -> list[dict[str, Any]]:
    """Return a series with a `label`, such as 24 Oct, in each entry."""
    labels = (_label(entry["from"], interval, zone, t) for entry in entries)
    return [{**entry, "label": label} for entry, label in zip(entries, labels, strict=True)]


def comparable_hours(hourly_counts: Iterable[Any], period: Any, before: Any) -> list[Any]:
    """Return the hourly counts, without the previous period's hours that have no counterpart yet.

    Therefore, totals that include an unfinished day are compared with an equally long part of the previous period.
    """
    end = before.end if clock.seconds() >= period.end else min(_counterpart_of_now(period, before), before.end)
    return [hour for hour in hourly_counts if hour.start < end or hour.start >= period.start]


def _counterpart_of_now(period: Any, before: Any) -> int:
    """Return the time that is as long after the start of `before`, in local time, as now is after the period's."""
    times = (local_time(seconds, period.zone) for seconds in (before.start, clock.seconds(), period.start))
    start, now, later_start = (one.replace(tzinfo=None) for one in times)
    return int((start + (now - later_start)).replace(tzinfo=period.zone).timestamp())


def charted_count(entries: Sequence[dict[str, Any]]) -> int:
    """Return the number of intervals that have begun, at least 1. A chart draws only these."""
    begun = [entry for entry in entries if entry["from"] <= clock.seconds()]
    return max(1, len(begun))


def finished_count(entries: Sequence[dict[str, Any]], end: int) -> int:
    """Return the number of complete intervals. A chart draws a dashed line to the unfinished interval."""
    now = clock.seconds()
    return sum(following <= now for following in [*(entry["from"] for entry in entries[1:]), end])


def passed_part(entries: Sequence[dict[str, Any]], end: int) -> float:
    """Return the part of the unfinished interval that has passed, or 1 if all intervals have ended."""
    edges, finished = [*(entry["from"] for entry in entries), end], finished_count(entries, end)
    if finished == len(entries):
        return 1
    start, following = edges[finished : finished + 2]
    return float((clock.seconds() - start) / (following - start))


def local_time(seconds: int, zone: tzinfo) -> datetime:
    """Return a time in Unix seconds as a time in a zone."""
    return datetime.fromtimestamp(seconds, zone)


def _period(choice: str, zone: tzinfo) -> Any:
    today = local_time(clock.seconds(), zone).date()
    first, last = _months(today).get(choice) or _selected_days(today)
    if not timedelta() <= last - first < timedelta(days=_REPORTS.MAX_DAYS):
        raise InvalidPeriod("from")
    start, end = _midnight(first, zone), _midnight(last + timedelta(days=1), zone)
    return _REPORTS.ReportPeriod.covering(start, end, zone)


def _selected_days(today: date) -> tuple[date, date]:
    first, last = (_date("from"), _date("to")) if has_dates() else (None, None)
    days = _DEFAULT_DAYS if has_dates() else days_from_request()
    last = last or today
    return first or last - timedelta(days=days - 1), last


def _months(today: date) -> dict[str, tuple[date, date]]:
    """Return the first and last days of this month, which ends today, and of the last month."""
    month = today.replace(day=1)
    before = month - timedelta(days=1)
    return {THIS_MONTH: (month, today), LAST_MONTH: (before.replace(day=1), before)}


def _before(period: Any) -> Any:
    """Return the previous period: for this month, the same days of the month before."""
    if current_request.query_value("days") != THIS_MONTH:
        return period.before()
    first, following = (_REPORTS.day_of(edge, period.zone) for edge in (period.start, period.end))
    start = (first - timedelta(days=1)).replace(day=1)
    end = min(start + (following - first), first)
    return _REPORTS.ReportPeriod.covering(_midnight(start, period.zone), _midnight(end, period.zone), period.zone)


def _date(name: str) -> date | None:
    return _parse(name, current_request.query_value(name))


def _parse(name: str, text: str | None) -> date | None:
    if not text:
        return None
    try:
        day = date.fromisoformat(text)
    except ValueError as error:
        raise InvalidPeriod(name) from error
    if not 1971 <= day.year <= 2999:
        raise InvalidPeriod(name)
    return day


def day_label(text: str, t: Callable[[str], str]) -> str:
    """Return a day such as 2026-10-01 as 1 Oct 2026, and any other text as it is."""
    with suppress(InvalidPeriod):
        day = _parse("", text)
        return f"{day.day} {template_filters.month(day.month, t)} {day.year}" if day else text
    return text


def recent_days(number: int) -> list[date]:
    """Return the last UTC days, beginning with today."""
    return [_today() - timedelta(days=days) for days in range(number)]


def _today() -> date:
    return local_time(clock.seconds(), timezone.utc).date()


def _midnight(day: date, zone: tzinfo) -> int:
    return int(datetime(day.year, day.month, day.day, tzinfo=zone).timestamp())


def _label(seconds: int, interval: str, zone: tzinfo, t: Callable[[str], str]) -> str:
    if interval == "hour":
        local = local_time(seconds, zone)
        return f"{local.day} {template_filters.month(local.month, t)} {local:%H:%M}"
    day = _REPORTS.day_of(seconds, zone)
    month = template_filters.month(day.month, t)
    return f"{month} {day.year}" if interval == "month" else f"{day.day} {month}"
