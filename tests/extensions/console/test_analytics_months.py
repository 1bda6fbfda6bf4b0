"""Calendar months in the analytics, and the days with which they are compared."""

import re

import pytest

from chalicelib import clock
from chalicelib.workspaces.store import NewWorkspace
from tests import extensions
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD

extensions.require("reports")

from tests.extensions.console.stored_counts import count


@pytest.fixture
def open_at(browser: Browser, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch) -> Browser:
    """Return the client's browser, and store a conversation for the first and last days of each month."""
    for date in ("09-01", "09-30", "10-01", "10-27", "10-28", "10-31", "11-01", "11-27"):
        count(workspace.workspace_id, "support", f"2026-{date}", 9, "NL", conversations=1)
    monkeypatch.setattr(clock, "milliseconds", lambda: clock.parse_iso("2026-11-27T12:00:00Z") * 1000)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    return browser


@pytest.mark.parametrize(
    ("query", "dates", "numbers"),
    [
        ("days=this_month", "1 Nov – 27 Nov, UTC, compared with 1 Oct – 27 Oct", ("2", "2")),
        ("days=last_month", "1 Oct – 31 Oct, UTC, compared with 1 Sep – 30 Sep", ("4", "2")),
        ("days=7", "21 Nov – 27 Nov, UTC, compared with 14 Nov – 20 Nov", ("1", "0")),
        ("from=2026-10-01&to=2026-10-31", "1 Oct – 31 Oct, UTC, compared with 1 Sep – 30 Sep", ("4", "2")),
    ],
)
def test_a_month_is_compared_with_the_month_before(
    open_at: Browser, query: str, dates: str, numbers: tuple[str, str]
) -> None:
    page = open_at.open(f"/analytics?{query}&tz=UTC")
    assert page.status == 200 and dates in page.text
    tile = page.text.partition(">Conversations</a>")[2].partition("</li>")[0]
    assert re.findall("<strong>([^<]*)</strong>.*was ([^<]*)<", tile) == [numbers]
    by_agent = open_at.open(f"/analytics?{query}&tz=UTC&by=agent").text.partition('id="breakdown"')[2]
    assert f"was {numbers[1]}<" in by_agent


def test_the_months_are_in_the_zone_of_the_report(open_at: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(clock, "milliseconds", lambda: clock.parse_iso("2026-11-30T23:30:00Z") * 1000)
    open_at.start_session(email="bo@acme.test", password=PASSWORD)
    pages = [open_at.open(f"/analytics?days=this_month&tz={zone}").text for zone in ("UTC", "Europe/Amsterdam")]
    assert "1 Nov – 30 Nov, UTC, compared with 1 Oct – 30 Oct" in pages[0]
    assert "1 Dec – 1 Dec, Europe/Amsterdam, compared with 1 Nov – 1 Nov" in pages[1]
    assert '<option value="this_month" selected>This month</option>' in pages[0]


def test_a_longer_month_is_compared_with_the_whole_month_before(
    open_at: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "milliseconds", lambda: clock.parse_iso("2026-03-30T12:00:00Z") * 1000)
    open_at.start_session(email="bo@acme.test", password=PASSWORD)
    assert "1 Mar – 30 Mar, UTC, compared with 1 Feb – 28 Feb" in open_at.open("/analytics?days=this_month&tz=UTC").text


@pytest.mark.parametrize(("now", "earlier"), [("28T12:00", 1), ("28T21:30", 2), ("29T12:00", 2), ("31T00:30", 2)])
def test_a_shorter_month_is_complete_from_the_day_after_its_last_day(
    open_at: Browser, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch, now: str, earlier: int
) -> None:
    """Amsterdam has summer time from 29 March."""
    for date, hour in (("02-27", 9), ("02-28", 20)):
        count(workspace.workspace_id, "support", f"2026-{date}", hour, "NL", conversations=1)
    monkeypatch.setattr(clock, "milliseconds", lambda: clock.parse_iso(f"2026-03-{now}:00Z") * 1000)
    open_at.start_session(email="bo@acme.test", password=PASSWORD)
    for zone in ("UTC", "Europe/Amsterdam"):
        tile = open_at.open(f"/analytics?days=this_month&tz={zone}").text.partition(">Conversations</a>")[2]
        assert re.findall("was ([^<]*)<", tile.partition("</li>")[0]) == [str(earlier)]
