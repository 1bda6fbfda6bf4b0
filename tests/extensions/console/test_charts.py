"""The charts of the overview and of the analytics page: their axes, lines, tables and changes."""

import re

import pytest

from chalicelib import clock
from chalicelib.workspaces.store import NewWorkspace
from tests import extensions
from tests.api import Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD

extensions.require("reports")

from tests.extensions.console.counted_agents import TODAY, day_before, with_counts
from tests.extensions.console.stored_counts import count


@pytest.fixture
def signed_in(browser: Browser, workspace_api: Api, workspace: NewWorkspace) -> Browser:
    """Return the client's browser, and store counts and leads for the client's agent and for another agent."""
    return with_counts(browser, workspace_api, workspace.workspace_id)


def test_charts_have_five_dates_at_equal_distances_and_one_legend(signed_in: Browser) -> None:
    page = signed_in.open("/overview").text
    axis = page.partition('<svg class="plot"')[2].partition("</figure>")[0]
    dates = re.findall(r'dy="20" text-anchor="(\w+)">([^<]*)<', axis)
    assert [one for one, _ in dates] == ["middle", "middle", "middle", "middle", "end"]
    assert [label for _, label in dates] == [
        f"{clock.to_datetime(clock.seconds() - days * 86_400):%-d %b}" for days in (28, 21, 14, 7, 0)
    ]
    assert page.count("<figure") == 1 and page.count("Today so far") == 1
    assert len(re.findall('dy="20"', signed_in.open(f"/analytics?interval=hour&from={TODAY}").text)) % 3 == 0


def points(page: str) -> list[int]:
    """Return the number of points in each line of the page's charts."""
    return [part.partition('"')[0].count(",") for part in page.split('class="line" points="')[1:]]


@pytest.mark.parametrize(("path", "drawn"), [("/overview", 29), ("/analytics", 29), ("/analytics?days=7", 6)])
def test_the_part_of_a_line_that_is_not_dashed_ends_before_today(path: str, drawn: int, signed_in: Browser) -> None:
    page = signed_in.open(path).text
    assert {*points(page)} == {drawn}
    assert "Today so far" in page
    past = signed_in.open("/analytics?from=2026-02-01&to=2026-02-03").text
    assert ({*points(past)}, "so far" in past, "unfinished" in past) == ({3}, False, False)
    today = signed_in.open(f"/analytics?from={TODAY}&to={TODAY}").text
    assert ({*points(today)}, "so far" in today) == ({1}, True)


def test_a_chart_scales_by_the_values_that_it_draws(
    browser: Browser, workspace_api: Api, workspace: NewWorkspace
) -> None:
    tomorrow = day_before(-1)
    for date, number in ((tomorrow, 90_000), (TODAY, 9_000), (day_before(1), 8)):
        count(workspace.workspace_id, "support", date, 0, "NL", conversations=number)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    for path, labels in (
        ("/overview", ["10k", "7.5k", "5k", "2.5k", "0"]),
        (f"/analytics?from={TODAY}&to={tomorrow}", ["10k", "7.5k", "5k", "2.5k", "0"]),
        (f"/analytics?from={day_before(2)}&to={day_before(1)}", ["8", "6", "4", "2", "0"]),
    ):
        chart = browser.open(path).text.partition('<svg class="plot"')[2].partition("</svg>")[0]
        assert re.findall(r'<text class="axis"[^>]*>([^<]*)<', chart)[:5] == labels


def test_the_table_of_a_chart_has_the_dates_of_both_periods(signed_in: Browser) -> None:
    page = signed_in.open("/analytics?from=2026-01-31&to=2026-02-01").text
    row = r"<tr><th>([^<]*)<td>([^<]*)<td>([^<]*)<td>([^<]*)(?=<)"
    assert re.findall(row, page)[:2] == [("31 Jan", "7", "29 Jan", "0"), ("1 Feb", "0", "30 Jan", "0")]
    following = signed_in.open("/analytics?from=2026-02-02&to=2026-02-03").text
    assert re.findall(row, following)[:2] == [("2 Feb", "0", "31 Jan", "7"), ("3 Feb", "0", "1 Feb", "0")]
    march = signed_in.open("/analytics?from=2026-03-01&to=2026-03-31").text  # February is shorter
    assert re.findall(row, march)[27:31] == [
        ("28 Mar", "0", "28 Feb", "0"), *((f"{day} Mar", "0", "", "0") for day in (29, 30, 31))
    ]  # fmt: skip


def point(index: str) -> list[tuple[str, list[str]]]:
    """Return the lines that draw the hollow point of an unfinished interval."""
    return [(kind, [index, index]) for kind in ("line unfinished", "hollow")]


@pytest.mark.parametrize("hour", [2, 12])
def test_a_dashed_line_leads_to_an_unfinished_interval(
    signed_in: Browser, monkeypatch: pytest.MonkeyPatch, hour: int
) -> None:
    """Until a tenth of the interval has passed, its count is a point. A line to it would look like a crash."""
    moment = clock.start_of_day(TODAY) + hour * 3_600
    monkeypatch.setattr(clock, "milliseconds", lambda: moment * 1_000)
    signed_in.start_session(email="bo@acme.test", password=PASSWORD)
    lines = re.compile(r'<polyline class="(line[^"]*|hollow)" points="([^"]*)"')
    for first, expected in (
        (day_before(1), [("line", ["0"]), ("line rest", ["0", "1"]), *point("1")]),
        (day_before(2), [("line", ["0", "1"]), ("line rest", ["1", "2"]), *point("2")]),
    ):
        page = signed_in.open(f"/analytics?from={first}&to={day_before(0)}").text
        drawn = [(kind, [point.partition(",")[0] for point in points.split()]) for kind, points in lines.findall(page)]
        assert drawn == [line for line in expected if hour == 12 or line[0] != "line rest"]


def test_a_change_is_green_only_if_it_is_an_improvement(
    browser: Browser, workspace_api: Api, workspace: NewWorkspace
) -> None:
    for days, number in ((1, 9), (31, 3)):
        numbers = {"conversations": number, "handoffs": number}
        count(workspace.workspace_id, "support", day_before(days), 9, "NL", **numbers)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    for path in ("/overview", "/analytics"):
        page = browser.open(path).text
        assert re.findall(r'<span class="(change[^"]*)">▲ 200 %', page) == ["change better", "change worse"]


def test_a_breakdown_without_conversations_says_why_it_counts_visitors(
    browser: Browser, workspace_api: Api, workspace: NewWorkspace
) -> None:
    for days in (1, 31):
        count(workspace.workspace_id, "support", day_before(days), 9, "NL", newVisitors=4)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    for value, name in (("country", "country"), ("language", "browser language")):
        page = browser.open(f"/analytics?by={value}").text
        assert f"Conversations have no {name}. Visitors who only" in page
    page = browser.open("/overview").text  # the card's title says what it counts
    assert "New visitors by country" in page and "have no country" not in page
    page = browser.open("/analytics?by=country").text
    selected = r'<p class="selected"><strong>4</strong> <span class="change">No change</span>.*?was 4<'
    assert re.search(rf"<figcaption><h2>New visitors</h2>{selected}", page)
    row = page.partition(">Netherlands<")[2].partition("</tr>")[0]
    assert '<span class="change">No change</span>' in row
    assert "have no country" not in browser.open("/analytics?by=country&chart=conversations").text
    assert 'class="selected"' not in browser.open("/analytics?chart=leads").text


def test_an_average_says_what_it_counts(signed_in: Browser) -> None:
    overview, analytics = (signed_in.open(path).text for path in ("/overview", "/analytics"))
    for page in (overview, analytics):
        tile = re.search(r'title="([^"]*)"[^>]*>Median first answer<(.*?)</li>', page)
        assert tile and tile[1].endswith("Requests that still wait do not count.")
        assert "<small>" not in tile[2]
    assert "<small>average of ended conversations</small>" in analytics
    meanings = analytics.partition("What the figures count")[2].partition("</dl>")[0]
    figures = re.findall(r">([^<]*)</a></span><strong|>([^<]*)</a><strong", analytics)
    assert re.findall("<dt>([^<]*)</dt><dd>[^<]+", meanings) == ["".join(name) for name in figures]
