"""The analytics page shows how long people take to answer, and how long conversations last."""

import re

import pytest

from chalicelib import clock
from chalicelib.extensions.console.access import sessions
from chalicelib.extensions.console.presentation import rendering, template_filters
from chalicelib.workspaces.store import NewWorkspace
from tests import extensions
from tests.api import Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD

extensions.require("reports")

from chalicelib.extensions.console.figure_pages import answer_times
from chalicelib.extensions.reports import hours
from tests.extensions.console.stored_counts import count

DAY = 24 * 60 * 60


@pytest.mark.parametrize(
    ("seconds", "english", "dutch"),
    [
        (0, "0 s", "0 s"),
        (59, "59 s", "59 s"),
        (60, "1 min", "1 min"),
        (130, "2 min 10 s", "2 min 10 s"),
        (1_530, "26 min", "26 min"),
        (3_599, "1 h", "1 u"),
        (11_400, "3 h 10 min", "3 u 10 min"),
        (DAY - 1, "1 d", "1 d"),
        (2 * DAY + 14_500, "2 d 4 h", "2 d 4 u"),
    ],
)
def test_a_duration_has_its_largest_units(seconds: int, english: str, dutch: str) -> None:
    for language, expected in (("en", english), ("nl", dutch)):
        assert template_filters.duration(seconds, rendering.texts(language)) == expected


@pytest.fixture
def signed_in(browser: Browser, workspace: NewWorkspace) -> Browser:
    """Return the client's browser. The period before had shorter conversations and slower answers."""
    for days, answer, end in ((3, 130, 11_400), (40, 260, 5_700)):
        date = clock.iso(clock.seconds() - days * DAY)[:10]
        numbers = {"firstAnswers": 2, "firstAnswerMilliseconds": 2_000 * answer}
        count(workspace.workspace_id, "support", date, 9, "NL", **numbers, ends=3, endMilliseconds=3_000 * end)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    return browser


def date_before(days: int) -> str:
    return clock.iso(clock.seconds() - days * DAY)[:10]


def tile(page: str, title: str) -> str:
    """Return the text of a tile, with its change marked `better` or `worse` if it has a colour."""
    (found,) = re.findall(rf'<li(?: class="card"><span)?><a [^>]*>{title}</a>(.*?)</li>', page, re.DOTALL)
    coloured = re.sub('<span class="change (better|worse)">', r"\1 ", found)
    return " ".join(re.sub(r"<[^>]+>", " ", coloured).split())


def test_tiles_and_charts_show_durations(signed_in: Browser) -> None:
    page = signed_in.open("/analytics").text
    assert tile(page, "Average time to first answer") == "2 min 10 s of those answered better ▼ 50 % was 4 min 20 s"
    assert tile(page, "Time to the end") == "3 h 10 min average of ended conversations worse ▲ 100 % was 1 h 35 min"
    assert tile(page, "Average length") == "– first to last message"
    assert 'aria-label="Time to the end: 3 h 10 min"' in signed_in.open("/analytics?chart=averageEndSeconds").text
    page = signed_in.open("/analytics?chart=averageFirstAnswerSeconds").text
    (table,) = re.findall(r"<h2>Average time to first answer</h2>.*?<tbody>(.*?)</tbody>", page, re.DOTALL)
    cells = re.findall(r"<th>[^<]*<td>([^<]*)<td>[^<]*<td>([^<]*)(?=<)", table)
    assert sorted({text for row in cells for text in row}) == ["2 min 10 s", "4 min 20 s", "–"]
    (drawing,) = re.findall(r"<h2>Average time to first answer</h2>(.*?)</svg>", page, re.DOTALL)
    assert re.findall(r'text-anchor="end">([^<]*)<', drawing) == ["6 min", "4 min 30 s", "3 min", "1 min 30 s", "0 s"]


def test_durations_are_in_the_language_and_by_value(signed_in: Browser, workspace_api: Api) -> None:
    assert "2 min" in signed_in.open("/analytics?by=origin").text
    body = {"name": "Acme", "widgetIDs": ["support"], "preferredLanguage": "nl"}
    assert workspace_api.post("/v2/orgs/acme", body).status == 200
    sessions.clear_cache()
    page = signed_in.open("/analytics?by=origin&chart=averageEndSeconds").text
    assert (
        tile(page, "Tijd tot het einde")
        == "3 u 10 min gemiddelde van beëindigde gesprekken worse ▲ 100 % was 1 u 35 min"
    )
    assert page.count("3 u 10 min") >= 3


def test_the_file_contains_durations_in_seconds(signed_in: Browser) -> None:
    lines = signed_in.open("/analytics.csv").text.splitlines()
    assert ",firstAnswers,averageFirstAnswerSeconds,ends,averageEndSeconds,firstAnswersWithin1Minute," in lines[0]
    assert [line for line in lines if line.endswith(",2,130,3,11400" + "," * 7)] != []


def test_a_wait_that_is_more_than_ten_times_as_long_has_no_percentage(
    browser: Browser, workspace: NewWorkspace
) -> None:
    """The small line contains the average of today, whose four late answers made the figure worse."""
    today = clock.iso(clock.seconds())[:10]
    for date, answer in ((clock.iso(clock.seconds() - 40 * DAY)[:10], 146), (today, 14_520)):
        numbers = {"firstAnswers": 4, "firstAnswerMilliseconds": 4_000 * answer}
        count(workspace.workspace_id, "support", date, 0, "NL", **numbers)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    for path in ("/overview", "/analytics"):
        page = browser.open(path).text
        text = tile(page, "Average time to first answer")
        assert text == "4 h 2 min of those answered worse ▲ more than tenfold was 2 min 26 s"
        assert "d=" in page.partition("more than tenfold")[2].partition("</li>")[0]


def test_an_empty_period_has_no_durations(browser: Browser) -> None:
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    page = browser.open("/analytics").text
    assert tile(page, "Median first answer") == "–"
    assert tile(page, "Time to the end") == "– average of ended conversations"


def answers(*waits: int) -> dict[str, int]:
    """Return the counts of first answers after these numbers of seconds."""
    limits = (*hours.ANSWER_SECONDS.items(), (hours.TIMED, max(waits)))
    within = {name: sum(wait <= limit for wait in waits) for name, limit in limits}
    return {"firstAnswers": len(waits), "firstAnswerMilliseconds": 1_000 * sum(waits), **within}


def test_one_late_answer_hardly_changes_the_time_to_first_answer(browser: Browser, workspace: NewWorkspace) -> None:
    for days, waits in ((3, (100, 120, 130, 200, 30_000)), (40, (100, 120, 130, 200, 40))):
        count(workspace.workspace_id, "support", date_before(days), 9, "NL", **answers(*waits))
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    for path in ("/overview", "/analytics"):
        text = tile(browser.open(path).text, "Median first answer")
        # The average was 2 min. The average of 6,110 s is rounded as the median.
        assert text == "3 min 30 s average 1 h 40 min worse ▲ 40 % was 2 min 30 s"
    page = browser.open("/analytics?chart=medianFirstAnswerSeconds&by=agent").text
    assert tile(page, "Answered within 15 min") == "80 % without those who still wait worse ▼ 20 pts was 100 %"
    assert 'aria-label="Median first answer: 3 min 30 s"' in page and '<td class="figure">3 min 30 s</td>' in page


@pytest.mark.parametrize(("number", "basis"), [(1, "1 conversation"), (2, "2 conversations")])
def test_the_basis_of_a_rate_has_a_singular(browser: Browser, workspace: NewWorkspace, number: int, basis: str) -> None:
    count(workspace.workspace_id, "support", date_before(3), 9, "NL", conversations=number)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    assert tile(browser.open("/analytics").text, "Without a person") == f"100.0 % {basis}"


def test_a_median_is_not_compared_with_an_average(browser: Browser, workspace: NewWorkspace) -> None:
    """An earlier release counted some answers of the period before without their times."""
    earlier = {**answers(100, 200, 300), "firstAnswers": 4}
    for days, numbers in ((3, answers(100, 200)), (40, earlier)):
        count(workspace.workspace_id, "support", date_before(days), 9, "NL", **numbers)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    page = browser.open("/analytics").text
    assert tile(page, "Median first answer") == "2 min 30 s average 2 min 30 s"
    assert tile(page, "Answered within 15 min") == "100 % without those who still wait"


def test_the_average_stands_for_a_median_that_is_unknown(browser: Browser, workspace: NewWorkspace) -> None:
    for numbers in (answers(100), {"firstAnswers": 1, "firstAnswerMilliseconds": 300_000}):
        days = 3 + numbers["firstAnswerMilliseconds"] // 300_000
        count(workspace.workspace_id, "support", date_before(days), 9, "NL", **numbers)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    for path in ("/overview", "/analytics"):
        page = browser.open(path).text
        assert tile(page, "Average time to first answer") == "3 min 20 s of those answered"
        assert ">Median first answer<" not in page and "within 15 min" not in page


def test_a_breakdown_by_agent_compares_their_figures(browser: Browser, workspace: NewWorkspace) -> None:
    """An agent without answers has no time to the first answer."""
    for agent_id, days, numbers in (
        ("support", 3, {"conversations": 4, "handoffs": 2, "leads": 1, **answers(100, 200)}),
        ("support", 40, {"conversations": 3, "handoffs": 1}),
        ("other", 3, {"conversations": 9}),
    ):
        count(workspace.workspace_id, agent_id, date_before(days), 9, "NL", **numbers)
    browser.start_session(key=workspace.workspace_key)
    page = browser.open("/analytics?by=agent").text
    table = page.partition('<table class="stacked comparison">')[2].partition("</table>")[0]
    rows = [" ".join(re.sub("<[^>]+>", " ", row).split()) for row in table.split("<tr>")[1:]]
    assert rows == [
        "Conversations Handoffs Leads Median first answer",
        "Other 9 was 0 0 was 0 0 was 0 –",
        "Support 4 was 3 2 was 1 1 was 0 2 min 30 s",
    ]
    links = [link for link in re.findall(r'href="([^"]*)"', table) if "agent=support" in link]
    assert len(links) == 1 and "/convos?" in links[0]
    assert "comparison" not in browser.open("/analytics?by=origin").text + browser.open("/analytics").text


@pytest.mark.parametrize(
    ("waits", "median"),
    [
        ((7,), 7),
        ((20, 10_000), 5_010),
        ((10, 20, 30), 20),
        ((1, 70, 80, 4_000), 180),
        ((1, 2, 3, 4_000), 40),
        ((30_000, 200_000, 700_000, 700_000, 700_000), 280_800),
        ((5_000,) * 4 + (90,), 7_800),
    ],
)
def test_the_median_is_exact_for_few_answers_and_otherwise_estimated(waits: tuple[int, ...], median: int) -> None:
    entry = {**answers(*waits), "averageFirstAnswerSeconds": sum(waits) // len(waits)}
    assert answer_times.of_entry(entry)[answer_times.MEDIAN] == median
