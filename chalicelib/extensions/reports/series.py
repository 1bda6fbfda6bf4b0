"""Time series of counts: a period's intervals in a time zone, their sums, and the previous period. Performs no I/O.

Counts are stored per UTC hour. If a zone's UTC offset is a whole number of hours, its intervals start exactly on time.
Otherwise, they start at the nearest hour. All times are in Unix seconds.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, datetime, timedelta, tzinfo
from typing import Any, NamedTuple

from chalicelib.extensions.reports import hours
from chalicelib.extensions.reports.hours import HourlyCounts

INTERVALS = ("hour", "day", "month")
INEXACT = "Counts are stored per full UTC hour, so days in this time zone start at the nearest hour."
# The maximum number of groups in a report, not counting the group for all other values.
MAX_GROUPS = 50
_HOUR = hours.SECONDS


class ReportPeriod(NamedTuple):
    """A period of whole hours, from `start` until `end` (exclusive), and the time zone of its days."""

    start: int
    end: int
    zone: tzinfo

    @classmethod
    def covering(cls, since: int, until: int, zone: tzinfo) -> "ReportPeriod":
        """Return the period that consists of the hours from `since` until `until` (exclusive).

        If an edge is midnight in the zone, move it to the nearest hour, which is where the day's counts start.
        """
        start, end = widen(since, until, _HOUR)
        start = _nearest(since) if _is_midnight(since, zone) else start
        end = _nearest(until) if _is_midnight(until, zone) else end
        return cls(start, max(end, start + _HOUR), zone)

    def intervals(self, interval: str) -> Iterator[int]:
        """Yield the start of each interval. The first one starts with the period; the others follow the time zone."""
        yield self.start
        last = self.start
        for start in self._hours() if interval == "hour" else map(self._midnight, self._dates(interval)):
            if start >= self.end:
                return
            if start > last:  # a zone that moves across the date line skips a day
                yield start
                last = start

    def is_exact(self) -> bool:
        """Return whether each interval starts on the hour in UTC."""
        edges = (_offset(self._local(edge)) for edge in (self.start, self.end))
        return not any(seconds % _HOUR for seconds in (*edges, *map(self._utc_of, self._dates("day"))))

    def before(self) -> "ReportPeriod":
        """Return the previous period. It has the same number of months if the period consists of whole months,
        otherwise the same duration in local time.
        """
        first, last = (day_of(edge, self.zone) for edge in (self.start, self.end))
        if first.day == last.day == 1 and (self._midnight(first), self._midnight(last)) == (self.start, self.end):
            earlier = _month(first, -((last.year - first.year) * 12 + last.month - first.month))
            return ReportPeriod(min(self._midnight(earlier), self.start), self.start, self.zone)
        start, end = (self._local(edge).replace(tzinfo=None) for edge in (self.start, self.end))
        local = (start - (end - start)).replace(tzinfo=self.zone)
        return ReportPeriod(min(_nearest(int(local.timestamp())), self.start), self.start, self.zone)

    def _hours(self) -> Iterator[int]:
        yield from range(self.start + _HOUR, self.end, _HOUR)

    def _dates(self, interval: str) -> Iterator[date]:
        """Yield the first day of each interval that starts within the period but after its first day."""
        day, last = (self._local(edge).date() for edge in (self.start, self.end))
        while (day := _month(day, 1) if interval == "month" else day + timedelta(days=1)) <= last:
            yield day

    def _midnight(self, day: date) -> int:
        return _nearest(self._utc_of(day))

    def _utc_of(self, day: date) -> int:
        # If a day has no midnight because daylight saving time starts, this is the time when the day starts.
        return int(datetime(day.year, day.month, day.day, tzinfo=self.zone).timestamp())

    def _local(self, seconds: int) -> datetime:
        return datetime.fromtimestamp(seconds, self.zone)


def widen(start: int, end: int, unit: int) -> tuple[int, int]:
    """Return a period, extended to whole units of `unit` seconds, such as UTC hours."""
    return start - start % unit, end + -end % unit


def day_of(start: int, zone: tzinfo) -> date:
    """Return the local day whose midnight is nearest to an interval's start."""
    return datetime.fromtimestamp(start + _HOUR // 2, zone).date()


def build(
    period: ReportPeriod, before: ReportPeriod, interval: str, hourly_counts: Iterable[HourlyCounts]
) -> dict[str, Any]:
    """Return a period's series and totals, and the previous period's totals."""
    starts = [*period.intervals(interval)]
    sums = [[0] * len(hours.NAMES) for _ in starts]
    earlier = [0] * len(hours.NAMES)
    for hour in hourly_counts:
        if hour.start >= period.start:
            hours.add(sums[bisect_right(starts, hour.start) - 1], hour.counts)
        elif hour.start >= before.start:
            hours.add(earlier, hour.counts)
    total = [sum(column) for column in zip(*sums, strict=True)]
    return {
        "series": [_entry(start, counts) for start, counts in zip(starts, sums, strict=True)],
        "totals": _entry(period.start, total),
        "previous": _entry(before.start, earlier),
    }


def build_groups(
    period: ReportPeriod, before: ReportPeriod, interval: str, hourly_counts: Sequence[HourlyCounts]
) -> list[dict[str, Any]]:
    """Return the series and totals for a dimension's 50 most frequent values, and for all others as `other`."""
    values: dict[str, list[int]] = {}
    for hour in hourly_counts:
        counts = values.setdefault(hour.value, [0] * len(hours.NAMES))
        if hour.start >= period.start:
            hours.add(counts, hour.counts)
    names = [*hours.most_frequent(values, MAX_GROUPS)]
    by_name: dict[str, list[HourlyCounts]] = {name: [] for name in names}
    for hour in hourly_counts:
        by_name[hour.value if hour.value in by_name else hours.OTHER].append(hour)
    return [{"value": name, **build(period, before, interval, by_name[name])} for name in names]


def _entry(start: int, counts: Sequence[int]) -> dict[str, Any]:
    numbers = dict(zip(hours.NAMES, counts, strict=True))
    averages = {
        name: round(numbers[total] / numbers[count] / units)
        for name, (total, count, units) in hours.AVERAGES.items()
        if numbers[count]
    }
    times = (*hours.ANSWER_SECONDS, hours.TIMED) if numbers[hours.TIMED] else ()
    return {"from": start, **{name: numbers[name] for name in (*hours.REPORTED, *times)}, **averages}


def _month(day: date, months: int) -> date:
    """Return the first day of the month `months` months after the given day."""
    number = day.year * 12 + day.month - 1 + months
    return date(number // 12, number % 12 + 1, 1)


def _is_midnight(seconds: int, zone: tzinfo) -> bool:
    local = datetime.fromtimestamp(seconds, zone)
    return (local.hour, local.minute, local.second) == (0, 0, 0)


def _nearest(seconds: int) -> int:
    return (seconds + _HOUR // 2) // _HOUR * _HOUR


def _offset(local: datetime) -> int:
    return int((local.utcoffset() or timedelta()).total_seconds())
