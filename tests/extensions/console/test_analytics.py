"""Analytics in the console: the selection, the pages, and the downloadable file."""

import csv
import html
import io
import re
from pathlib import Path
from typing import Any

import pytest

from chalicelib import clock, ids, queues, storage
from chalicelib.conversations.counted_changes import CountedChange
from chalicelib.extensions.console.access import sessions, visible_agents
from chalicelib.workspaces.store import NewWorkspace
from tests import extensions
from tests.api import Api
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD

extensions.require("reports")

from chalicelib.extensions.reports import hours
from chalicelib.extensions.reports.counts import DayRow, record_changes
from tests.extensions.console.counted_agents import TODAY, day_before, with_counts
from tests.extensions.console.stored_counts import count


@pytest.fixture
def signed_in(browser: Browser, workspace_api: Api, workspace: NewWorkspace) -> Browser:
    """Return the client's browser, and store counts and leads for the client's agent and for another agent."""
    return with_counts(browser, workspace_api, workspace.workspace_id)


def test_a_person_sees_the_counts_of_their_agents(signed_in: Browser) -> None:
    for path in ("", "?days=7", "?days=90&by=country", "?agent=support", "?agent=other", "?interval=month"):
        page = signed_in.open(f"/analytics{path}")
        assert page.status == 200
        assert "<strong>7</strong>" in page.text and "<strong>84</strong>" in page.text
        assert "999<" not in page.text and "Other" not in page.text


def test_countries_and_channels_have_names(browser: Browser, workspace_api: Api, workspace: NewWorkspace) -> None:
    for number, value in enumerate(("NL", "web-chat", "QQ"), 1):
        count(workspace.workspace_id, "support", day_before(number), 0, value, conversations=1, newVisitors=1)
    for language, names in (("en", ["Web chat", "Netherlands"]), ("nl", ["Webchat", "Nederland"])):
        workspace_api.post("/v2/orgs/acme", {"name": "Acme", "preferredLanguage": language})
        browser.start_session(email="bo@acme.test", password=PASSWORD)
        by_origin, by_country = (browser.open(f"/analytics?by={one}").text for one in ("origin", "country"))
        assert f">{names[0]}</a>" in by_origin and "origin=web-chat" in by_origin and ">QQ</a>" in by_origin
        assert f'<th scope="row">{names[1]}</th>' in by_country and '<th scope="row">QQ</th>' in by_country
        overview_page = browser.open("/overview").text
        assert all(f">{name}</" in overview_page for name in names)


def test_the_overview_has_the_counts_of_7_30_or_90_days(signed_in: Browser, workspace: NewWorkspace) -> None:
    count(workspace.workspace_id, "support", day_before(60), 0, "NL", conversations=13)
    for query, days, total in (("", 30, 7), ("?days=7", 7, 7), ("?days=90", 90, 20)):
        page = signed_in.open(f"/overview{query}").text
        assert f"<strong>{total}</strong>" in page
        assert re.findall(r'href="[^"]*[?]days=(\d+)" aria-current="true"', page) == [str(days)]
    assert signed_in.open("/overview?days=8").status == 400


def test_a_single_date_is_completed(signed_in: Browser) -> None:
    """Filters are submitted when the first of two dates changes, so the page completes the other one."""
    today = clock.seconds()
    for query, first, last in ((f"from={day_before(3)}", 3, 0), (f"to={day_before(2)}&days=custom", 31, 2)):
        page = signed_in.open(f"/analytics?{query}")
        labels = [f"{clock.to_datetime(today - days * 86_400):%-d %b}" for days in (first, last)]
        assert page.status == 200 and " – ".join(labels) in page.text


def test_an_unfinished_period_is_compared_with_as_much_of_the_one_before(
    browser: Browser, workspace_api: Api, workspace: NewWorkspace, pass_time: PassTime
) -> None:
    day = 24 * 60 * 60
    pass_time(day + day // 2 - clock.seconds() % day)  # to noon
    for days, hour, number in ((0, 0, 6), (30, 23, 90), (31, 0, 4)):
        date = clock.iso(clock.seconds() - days * day)[:10]
        count(workspace.workspace_id, "support", date, hour, "NL", conversations=number)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    assert "▲ 50 %" in browser.open("/overview").text
    assert "was 4<" in browser.open("/analytics").text
    since, until = (clock.iso(clock.seconds() - days * day)[:10] for days in (30, 1))
    assert "was 4<" in browser.open(f"/analytics?from={since}&to={until}").text


def test_pages_contain_the_changes_of_the_last_seconds(
    signed_in: Browser, workspace_api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Store changes of the agents that the person sees and of another agent, and count none of them."""
    monkeypatch.setattr(queues, "send", lambda *_: None)
    for agent_id, number in (("support", 5), ("other", 990)):
        partition = storage.join_key(workspace.workspace_id, agent_id)
        change = CountedChange(partition, ids.new_id(), {"handoffs": number}, {"country": "NL"})
        record_changes([change])
    for path in ("/overview", "/analytics", "/analytics?by=country"):
        page = signed_in.open(path).text
        text = re.sub(r'="[^"]*"', "", page)  # without random tokens and times
        assert "<strong>5</strong>" in text and "990" not in text and "995" not in text
        (until,) = re.findall(r"Counted until <time[^>]*>[^<]+ (\d\d:\d\d) UTC</time>\.", page)
        assert until in {clock.iso(clock.seconds() - seconds)[11:16] for seconds in (10, 70)}


def test_pages_say_when_they_show_only_the_first_agents(
    signed_in: Browser, workspace: NewWorkspace, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    operator = Browser(workspace.workspace_id)
    operator.start_session(key=workspace.workspace_key)
    workspace_api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": ["gone", "support", "other"]})
    sessions.clear_cache()
    # An operator sees two agents. The organisation lists three agent ids, and the first agent does not exist.
    for most, by_operator, by_person in ((1, 1, 0), (2, None, 1), (3, None, None)):
        monkeypatch.setattr(visible_agents, "MAX_AGENTS", most)
        for browser, count_on_page in ((operator, by_operator), (signed_in, by_person)):
            for path in ("/overview", "/analytics", "/leads", "/convos?tab=all"):
                page = browser.open(path).text
                is_said = f"Only the first {count_on_page} agents" in page or "has no agents" in page
                assert is_said if count_on_page is not None else "Only the first" not in page


def test_days_begin_where_the_time_zone_says(signed_in: Browser) -> None:
    chosen = "/analytics?from=2026-02-01&to=2026-02-03"
    assert "<strong>7</strong>" not in signed_in.open(chosen).text
    assert "<strong>7</strong>" in signed_in.open(f"{chosen}&tz=Europe/Amsterdam").text


@pytest.mark.parametrize("zone", ["UTC", "Asia/Kolkata", "Asia/Kathmandu", "America/St_Johns", "Australia/Lord_Howe"])
def test_days_have_their_own_date_where_they_begin_at_the_nearest_hour(zone: str, signed_in: Browser) -> None:
    page = signed_in.open(f"/analytics?from=2026-02-01&to=2026-02-03&tz={zone}").text
    assert f"1 Feb – 3 Feb, {zone}" in page
    # In summer, Lord Howe Island is exactly 11 hours ahead of UTC.
    assert ("nearest to midnight" in page) == (zone not in ("UTC", "Australia/Lord_Howe"))
    assert [day for day in ("31 Jan", "1 Feb", "2 Feb", "3 Feb", "4 Feb") if f"<tr><th>{day}<" in page] == [
        "1 Feb", "2 Feb", "3 Feb",
    ]  # fmt: skip


WRONG_QUERIES = [
    ("tz=Mars", "tz"),
    ("from=2026-02-02&to=2026-02-01", "from"),
    ("from=2999-01-01", "from"),
    ("from=2020-01-01&to=2026-01-01", "from"),
    ("from=x&to=2026-01-01", "from"),
    ("from=2026-01-01&to=0001-01-01", "to"),
    ("days=8", "days"),
    ("by=secret", "interval"),
]


def test_the_error_is_at_the_field_with_the_wrong_value(signed_in: Browser) -> None:
    for query, field in WRONG_QUERIES:
        page = signed_in.open(f"/analytics?{query}")
        assert page.status == 400, query
        assert f'id="wrong-{field}"' in page.text and f'aria-describedby="wrong-{field}"' in page.text, query
        assert signed_in.open(f"/analytics.csv?{query}").status == 400, query


def test_a_period_with_too_many_hours_has_days(signed_in: Browser) -> None:
    page = signed_in.open("/analytics?days=90&interval=hour")
    assert (page.status, page.text.count("<tr><th>")) == (200, 90)
    assert "The period has more than 400 hours, so the chart shows days." in page.text
    assert '<option value="day" selected>' in page.text and "<strong>7</strong>" in page.text
    (path,) = re.findall(r'href="[^"]*(/analytics\.csv[^"]*)"', page.text)
    assert signed_in.open(html.unescape(path)).text.count("\n") == 91
    assert signed_in.open("/analytics.csv?days=90&interval=hour").status == 400
    assert "more than 400 hours" not in signed_in.open("/analytics?days=7&interval=hour").text


def test_the_file_has_what_the_page_shows(signed_in: Browser) -> None:
    answer = signed_in.open("/analytics.csv?days=7")
    assert answer.headers["content-disposition"] == 'attachment; filename="analytics.csv"'
    assert clock.seconds() - 12 <= int(answer.headers["cams-counted-until"]) <= clock.seconds() - 10
    rows: list[dict[str, Any]] = [*csv.DictReader(io.StringIO(answer.text))]
    assert len(rows) == 7
    assert sum(int(row["conversations"]) for row in rows) == 7
    assert '"NL"' not in answer.text and "NL" in signed_in.open("/analytics.csv?days=7&by=country").text


def test_a_person_without_agents_reads_what_to_do(browser: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/orgs/acme", {"name": "Acme Travel", "widgetIDs": []})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    for path in ("/analytics", "/leads"):
        assert "Your organisation has no agents yet." in browser.open(path).text
        assert browser.open(f"{path}.csv").text.count("\n") == (31 if path == "/analytics" else 1)


def test_numbers_are_written_as_in_the_language_of_the_organisation(
    browser: Browser, workspace: NewWorkspace, workspace_api: Api
) -> None:
    workspace_api.post("/v2/orgs/acme", {"name": "Acme Travel", "preferredLanguage": "nl"})
    count(workspace.workspace_id, "support", TODAY, 0, "unknown", messages=1_234)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    assert "<strong>1.234</strong>" in browser.open("/overview").text


def test_analytics_of_most_intervals_stay_small(workspace: NewWorkspace, workspace_api: Api) -> None:
    for days in range(32):
        row = DayRow(storage.join_key(workspace.workspace_id, "support"), storage.join_key("counts", day_before(days)))
        row.seal({"hours": {str(hour): [10**12] * len(hours.NAMES) for hour in range(24)}})
        with storage.unit_of_work():
            storage.put(row)
    page = _operator(workspace).open(f"/analytics?interval=hour&from={day_before(15)}&to={day_before(0)}")
    assert (page.status, page.text.count("<tr><th>") >= 16 * 24) == (200, True)
    assert len(page.text.encode()) < 200_000


def _operator(workspace: NewWorkspace) -> Browser:
    browser = Browser(workspace.workspace_id)
    browser.start_session(key=workspace.workspace_key)
    return browser


def test_each_time_in_a_template_has_a_datetime() -> None:
    folder = Path(visible_agents.__file__).parent.parent / "templates"
    for file in folder.iterdir():
        if file.name not in ("times.html", "mail.html"):
            text = re.sub(
                r'aria-label="[^"]*"|{% block title %}.*|<time datetime="[^"]*" title="[^"]*"',
                "",
                file.read_text("utf-8"),
            )
            assert "moment(t)" not in text and "<time>" not in text, file.name


def test_an_operator_of_an_empty_workspace_reads_how_to_create_an_agent(workspace: NewWorkspace) -> None:
    browser = _operator(workspace)
    sentences = {
        "/overview": "Give it a name, a language and instructions.",
        "/convos": "When a visitor asks for a person, the conversation appears here.",
        "/convos?tab=all": "All conversations with visitors are kept here",
        "/analytics": "See how many visitors write",
        "/leads": "Visitors who leave a name, an email address or a phone number are listed here.",
        "/agents": "An agent answers visitors under its own name",
    }
    for path in sentences:
        page = browser.open(path).text
        # The overview shows the first steps instead.
        link = "Create an agent" if path == "/overview" else "Create agent"
        assert f'class="button" href="{browser.home}/new-agent">{link}</a>' in page and "administrator" not in page
        assert [one for one, sentence in sentences.items() if sentence in page] == [path]
        assert path == "/overview" or ">First steps</a>" in page
        assert "texts and settings that your bot reads" not in page


def test_a_list_time_names_its_zone_and_may_be_in_milliseconds(signed_in: Browser, workspace_api: Api) -> None:
    metadata = {"ts": 1_780_000_000_000}
    assert workspace_api.post("/agents/support/interact/old/state", {"metadata": metadata}).status == 200
    assert signed_in.open("/convos?agent=support").status == 200
    for path in ("/leads", "/convos?tab=all", "/agents"):
        page = signed_in.open(path).text
        time = r'<time datetime="20[0-9T:-]+Z?"( data-as="ago")?>[^<]* UTC</time>'
        assert re.search(time, page) and "<time>" not in page
