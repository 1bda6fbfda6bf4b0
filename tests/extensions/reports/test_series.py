"""Series: a period's intervals in a time zone across both clock changes, groups, and the previous period."""

from datetime import datetime, timedelta, timezone
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest

from chalicelib.conversations.counted_changes import CountedChange
from chalicelib.extensions.reports import hours, series
from chalicelib.extensions.reports.hours import HourlyCounts
from chalicelib.extensions.reports.series import ReportPeriod

HOUR = 3_600
AMSTERDAM, KOLKATA, NEW_YORK = "Europe/Amsterdam", "Asia/Kolkata", "America/New_York"


def utc(text: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=timezone.utc).timestamp())


def local(text: str, zone: str) -> int:
    return int(datetime.fromisoformat(text).replace(tzinfo=ZoneInfo(zone)).timestamp())


def period(start: str, end: str, zone: str = "UTC") -> ReportPeriod:
    return ReportPeriod(local(start, zone), local(end, zone), ZoneInfo(zone))


def lengths(report_period: ReportPeriod, interval: str) -> list[int]:
    """Return each interval's length in hours."""
    starts = [*report_period.intervals(interval), report_period.end]
    return [(after - start) // HOUR for start, after in pairwise(starts)]


@pytest.mark.parametrize(
    ("start", "end", "zone", "expected"),
    [
        ("2026-03-28", "2026-03-31", AMSTERDAM, [24, 23, 24]),
        ("2026-10-24", "2026-10-27", AMSTERDAM, [24, 25, 24]),
        ("2026-03-07", "2026-03-10", NEW_YORK, [24, 23, 24]),
        ("2026-03-28", "2026-03-31", "UTC", [24, 24, 24]),
        ("2026-03-28T18:00", "2026-03-30T06:00", AMSTERDAM, [6, 23, 6]),
        ("2026-03-28", "2026-03-28T05:00", AMSTERDAM, [5]),
        # Summer time begins at midnight, so the day begins at 1:00.
        ("2026-04-23", "2026-04-26", "Africa/Cairo", [24, 23, 24]),
        # The zone skips a day, because it moved across the International Date Line.
        ("2011-12-29", "2012-01-01", "Pacific/Apia", [24, 24]),
    ],
)
def test_days_begin_at_midnight_of_the_zone(start: str, end: str, zone: str, expected: list[int]) -> None:
    assert lengths(period(start, end, zone), "day") == expected


def test_months_are_those_of_the_zone() -> None:
    of_year = lengths(period("2026-01-01", "2027-01-01", AMSTERDAM), "month")
    days = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
    changes = {2: -1, 9: 1}
    assert of_year == [24 * number + changes.get(month, 0) for month, number in enumerate(days)]


@pytest.mark.parametrize(("day", "number"), [("2026-03-29", 23), ("2026-10-25", 25), ("2026-06-01", 24)])
def test_hours_of_a_day_of_change(day: str, number: int) -> None:
    end = (datetime.fromisoformat(day) + timedelta(days=1)).isoformat()
    assert lengths(period(day, end, AMSTERDAM), "hour") == [1] * number


@pytest.mark.parametrize(
    ("zone", "exact"), [(AMSTERDAM, True), (NEW_YORK, True), ("UTC", True), (KOLKATA, False), ("Asia/Kathmandu", False)]
)
def test_only_whole_hours_are_exact(zone: str, exact: bool) -> None:
    start, end = series.widen(utc("2026-11-01T00:20"), utc("2026-11-03T00:00"), 3_600)
    assert start == utc("2026-11-01")
    assert ReportPeriod(start, end, ZoneInfo(zone)).is_exact() is exact


def test_a_half_hour_of_summer_time_is_not_exact() -> None:
    """Lord Howe Island is at UTC+11 in summer and at UTC+10:30 in winter."""
    zone = ZoneInfo("Australia/Lord_Howe")
    assert ReportPeriod(utc("2026-01-01"), utc("2026-01-05"), zone).is_exact()
    assert not ReportPeriod(utc("2026-04-01"), utc("2026-04-10"), zone).is_exact()


def test_days_of_other_zones_begin_at_the_nearest_hour() -> None:
    cut = ReportPeriod(utc("2026-11-01"), utc("2026-11-03"), ZoneInfo("Asia/Kathmandu"))  # from 18:15 UTC
    assert [*cut.intervals("day")][1:] == [utc("2026-11-01T18:00"), utc("2026-11-02T18:00")]


@pytest.mark.parametrize(
    "zone", [KOLKATA, "Asia/Kathmandu", "Australia/Lord_Howe", "America/St_Johns", AMSTERDAM, "UTC"]
)
def test_a_month_of_any_zone_has_its_days_and_the_month_before(zone: str) -> None:
    """A period from midnight to midnight contains no hour of the previous day."""
    for month in range(1, 12):
        day, end = datetime(2026, month, 1), datetime(2026, month + 1, 1)
        whole_month = ReportPeriod.covering(local(day.isoformat(), zone), local(end.isoformat(), zone), ZoneInfo(zone))
        assert len([*whole_month.intervals("day")]) == (end - day).days
        assert len([*whole_month.intervals("month")]) == 1
        earlier = datetime(2026 - (month == 1), (month - 2) % 12 + 1, 1)
        assert abs(whole_month.before().start - local(earlier.isoformat(), zone)) <= HOUR // 2
        assert whole_month.before().end == whole_month.start


def test_other_edges_cover_all_that_was_asked_for() -> None:
    since, until = utc("2026-11-01T18:20"), utc("2026-11-02T18:40")
    expected = (utc("2026-11-01T18:00"), utc("2026-11-02T19:00"))
    assert ReportPeriod.covering(since, until, ZoneInfo(KOLKATA))[:2] == expected
    midnight = utc("2026-11-01T18:30")
    assert ReportPeriod.covering(midnight, midnight + 60, ZoneInfo(KOLKATA))[:2] == (midnight + 1_800, midnight + 5_400)


@pytest.mark.parametrize(
    ("start", "end", "zone", "before"),
    [
        ("2026-11-02", "2026-11-09", "UTC", "2026-10-26"),
        ("2026-03-28", "2026-03-30", AMSTERDAM, "2026-03-26"),
        ("2026-03-30", "2026-04-01", AMSTERDAM, "2026-03-28"),  # 47 hours long
        ("2026-11-01", "2026-12-01", AMSTERDAM, "2026-10-01"),
        ("2026-03-01", "2026-04-01", "UTC", "2026-02-01"),
        ("2026-01-01", "2027-01-01", NEW_YORK, "2025-01-01"),
        ("2026-11-02T06:00", "2026-11-02T09:00", "UTC", "2026-11-02T03:00"),
    ],
)
def test_the_period_before_has_the_same_length_on_the_calendar(start: str, end: str, zone: str, before: str) -> None:
    one = period(start, end, zone)
    assert one.before() == ReportPeriod(local(before, zone), one.start, one.zone)


def entry(start: int, **numbers: int) -> dict[str, int]:
    return {"from": start, **dict.fromkeys(hours.REPORTED, 0), **numbers}


def counts(**numbers: int) -> list[int]:
    return [numbers.get(name, 0) for name in hours.NAMES]


def test_hours_are_added_to_their_interval_and_the_period_before() -> None:
    report_period = period("2026-10-24", "2026-10-26", AMSTERDAM)
    second = local("2026-10-25", AMSTERDAM)
    hours = [
        HourlyCounts(report_period.start - HOUR, "", counts(messages=100)),
        HourlyCounts(report_period.start, "", counts(messages=1, conversations=1, seconds=30)),
        HourlyCounts(second - HOUR, "", counts(messages=2, conversations=1, seconds=45)),
        HourlyCounts(second, "", counts(messages=4)),
        HourlyCounts(report_period.end - HOUR, "", counts(messages=8)),
    ]
    assert series.build(report_period, report_period.before(), "day", hours) == {
        "series": [
            entry(report_period.start, messages=3, conversations=2, averageSeconds=38),
            entry(second, messages=12),
        ],
        "totals": entry(report_period.start, messages=15, conversations=2, averageSeconds=38),
        "previous": entry(local("2026-10-22", AMSTERDAM), messages=100),
    }


def test_agents_are_combined_into_one_count_of_each_hour_and_value() -> None:
    first, other = counts(loads=1), counts(loads=2)
    combined = [
        HourlyCounts(0, "NL", first),
        HourlyCounts(0, "DE", first),
        HourlyCounts(0, "NL", other),
        HourlyCounts(HOUR, "NL", [5]),
    ]
    expected = [(0, "DE", first), (0, "NL", counts(loads=3)), (HOUR, "NL", counts(loads=5))]
    assert sorted(hours.combine(iter(combined))) == [HourlyCounts(*each) for each in expected]
    assert (first, other) == (counts(loads=1), counts(loads=2))


def test_counts_of_an_earlier_release_are_shorter() -> None:
    one = period("2026-11-01", "2026-11-02")
    report = series.build(one, one.before(), "day", [HourlyCounts(one.start, "", [3])])
    assert report["totals"] == entry(one.start, loads=3)


def test_groups_are_the_most_frequent_values_and_others() -> None:
    report_period = period("2026-11-01", "2026-11-02")
    hours = [HourlyCounts(report_period.start, f"v{number:02}", counts(loads=number + 1)) for number in range(60)]
    hours += [
        HourlyCounts(report_period.start, "other", counts(loads=1_000)),
        HourlyCounts(report_period.start - HOUR, "v59", counts(loads=7)),
    ]
    groups = series.build_groups(report_period, report_period.before(), "day", hours)
    assert [group["value"] for group in groups] == [*(f"v{number:02}" for number in range(10, 60)), "other"]
    assert groups[-1]["totals"]["loads"] == 1_000 + sum(range(1, 11))
    assert (groups[-2]["totals"]["loads"], groups[-2]["previous"]["loads"]) == (60, 7)
    assert sum(group["totals"]["loads"] for group in groups) == sum(range(61)) + 1_000


def test_sums_keep_a_bounded_number_of_values_whatever_the_order() -> None:
    changes = [(counts(loads=1), [f"{number % 30:03}" + "x" * 10, "", "", "", ""], {}) for number in range(100)]
    sums = hours.add_up(changes)
    assert sums == hours.add_up(reversed(changes))
    assert sums.counts == counts(loads=100)
    assert len(sums.groups["origin"]) == hours.MAX_VALUES + 1
    assert sum(values[0] for values in sums.groups["origin"].values()) == 100
    assert sums.groups["country"] == {hours.UNKNOWN: counts(loads=100)}


def test_a_long_value_is_cut() -> None:
    values = {
        "browser": "x" * 1_000,
        "origin": None,
        "platform": "x" + "\N{GRINNING FACE}" * 1_000,
        "language": "\ud800a",
    }
    change = CountedChange("agent", "tag", {"loads": 1}, values)
    assert hours.values_of(change) == ["", "", "x" * 40, "x" + "\N{GRINNING FACE}" * 9, "a"]
