"""The links of tiles and bars to the records that they count, and the figures that are computed from counts."""

import html
import re

import pytest

from chalicelib import clock
from chalicelib.extensions.console.inbox_pages import all_conversations
from chalicelib.workspaces.store import NewWorkspace
from tests import extensions
from tests.api import Api
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.extensions.console.test_inbox import converse, names_in

extensions.require("reports")

from tests.extensions.console.stored_counts import count

_DAY = 24 * 60 * 60
_LINK = r'<a [^>]*href="[^"]*(/(?:convos|leads)\?[^"]*)">{}</a>'


@pytest.fixture
def signed_in(browser: Browser, workspace: NewWorkspace, workspace_api: Api, pass_time: PassTime) -> Browser:
    """Return the client's browser. Conversations began 60, 40 and 2 days ago, and today. Two of them are counted."""
    for name, days in (("Old", 20), ("Before", 38), ("Recent", 2), ("Today", 0)):
        converse(workspace_api, "support", name, "ended_chat")
        pass_time(days * _DAY)
    workspace_api.post("/v3/leads", {"lead": {"agentId": "support", "name": "Ann"}})
    today = clock.iso(clock.seconds())[:10]
    count(workspace.workspace_id, "support", today, 0, "website", conversations=20, leads=1, handoffs=3)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    return browser


def target(page: str, text: str) -> str:
    """Return the path to which the link with this text leads, or an empty string."""
    found = re.search(_LINK.format(text), page)
    return html.unescape(found[1]) if found else ""


@pytest.mark.parametrize(
    ("path", "texts"),
    [("/overview", ("Conversations", "Leads")), ("/analytics?chart={}", ("Show the list", "Show the list"))],
)
def test_a_count_leads_to_the_records_that_it_counts(path: str, texts: tuple[str, str], signed_in: Browser) -> None:
    counts = ("conversations", "leads", "messages", "handoffs")
    pages = [signed_in.open(path.format(name)).text for name in counts]
    listed = signed_in.open(target(pages[0], texts[0]))
    assert names_in(listed) == ["Today", "Recent"]
    assert "Began after <time" in listed.text and "Began before <time" in listed.text
    assert ">Ann<" in signed_in.open(target(pages[1], texts[1])).text
    assert [target(page, "Show the list") for page in pages[2:]] == ["", ""]


def test_a_tile_selects_its_chart(signed_in: Browser) -> None:
    page = signed_in.open("/analytics?days=7&chart=handoffRate").text
    assert re.findall(r'href="[^"]*chart=(\w+)#chart" aria-current="true"', page) == ["handoffRate"]
    assert 'aria-label="Handoff rate: 15.0 %"' in page and page.count("<figure") == 1
    assert "<td>15.0 %<" in page and '<p class="hint">Handoffs to a person per 100 conversations.</p>' in page
    links = re.findall(r'href="[^"]*(/analytics\?[^"]*)#chart"', page)
    assert len(links) == 14
    for link in map(html.unescape, links):
        assert "days=7" in link and re.search('aria-current="true">', signed_in.open(link).text)
    assert 'aria-label="Conversations: 20 in total"' in signed_in.open("/analytics?chart=unknown").text
    assert "/analytics?days=30&amp;chart=handoffs" in signed_in.open("/overview").text


def test_tiles_lead_only_to_pages_that_the_person_may_open(signed_in: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/bo", {"canAccess": ["/overview", "/leads"]})
    signed_in.start_session(email="bo@acme.test", password=PASSWORD)
    page = signed_in.open("/overview").text
    assert target(page, "Conversations") == target(page, "website") == "" and target(page, "Leads")


def test_days_that_are_not_in_utc_have_no_link_to_leads(signed_in: Browser) -> None:
    pages = [signed_in.open(f"/analytics?tz=Asia/Tokyo&chart={name}").text for name in ("conversations", "leads")]
    assert [bool(target(page, "Show the list")) for page in pages] == [True, False]


def test_a_bar_leads_to_the_conversations_of_its_agent_or_origin(signed_in: Browser) -> None:
    page = signed_in.open("/overview").text
    assert "agent=support" in target(page, "Support") and "from=" in target(page, "Support")
    assert "origin=website" in target(page, "website")
    grouped = signed_in.open("/analytics?by=origin&agent=support").text
    assert {"origin=website", "agent=support"} <= {*target(grouped, "website").partition("?")[2].split("&")}
    assert target(signed_in.open("/analytics?by=country").text, "website") == ""


def breakdown(page: str) -> tuple[list[str], list[list[str]]]:
    """Return the heads and the rows of the breakdown, without its bars."""
    table = page.partition('class="card breakdown')[2].partition("</table>")[0]
    lines = [re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", line) for line in re.findall("<tr>(.*?)</tr>", table)]
    heads, *rows = [[" ".join(re.sub("<[^>]+>", " ", cell).split()) for cell in line] for line in lines]
    return heads[2:], [[row[0], *row[2:]] for row in rows]


def test_groups_are_compared_in_a_table(signed_in: Browser, workspace: NewWorkspace) -> None:
    yesterday = clock.iso(clock.seconds() - _DAY)[:10]
    count(workspace.workspace_id, "support", yesterday, 1, "chatapp", conversations=5, messages=900, leads=1)
    for chart, title, names, values in (
        ("", "Conversations", ["website", "Chat app"], ["20", "5"]),
        ("&chart=messages", "Messages", ["Chat app"], ["900"]),
        ("&chart=leadRate", "Lead rate", ["Chat app", "website"], ["20.0 %", "5.0 %"]),
    ):
        page = signed_in.open(f"/analytics?by=origin{chart}").text
        table = page.partition('class="card breakdown')[2].partition("</table>")[0]
        assert re.findall(r'<th scope="row"><a [^>]*>([^<]*)</a>', table) == names
        heads, rows = breakdown(page)
        assert (heads[0], [row[1] for row in rows]) == (title, values)
        assert ("Share" in heads) == (title != "Lead rate") and "has no values" not in page
    assert "No values are known" in signed_in.open("/analytics?by=origin&from=2026-01-01&to=2026-01-02").text


def test_groups_have_their_change(signed_in: Browser, workspace: NewWorkspace) -> None:
    earlier = clock.iso(clock.seconds() - 40 * _DAY)[:10]
    count(workspace.workspace_id, "support", earlier, 0, "website", conversations=16, handoffs=12)
    for chart, change in (("", "better ▲ 25 % was 16"), ("&chart=handoffs", "better ▼ 75 % was 12")):
        page = signed_in.open(f"/analytics?by=origin{chart}").text.replace('"change better">', '"change">better ')
        (compared,) = re.findall(r'<td class="compared">(.*?)</td>', page)
        assert " ".join(re.sub("<[^>]+>", " ", compared).split()) == change


def test_the_breakdown_has_shares_and_is_sorted_by_value_or_by_change(
    signed_in: Browser, workspace: NewWorkspace
) -> None:
    for days, value, number in ((1, "chatapp", 60), (2, "new", 20), (40, "website", 40), (41, "chatapp", 30)):
        count(
            workspace.workspace_id, "support", clock.iso(clock.seconds() - days * _DAY)[:10], 0, value, messages=number
        )
    path = "/analytics?by=origin&chart=messages"
    heads, rows = breakdown(signed_in.open(path).text)
    assert heads[:3] == ["Messages", "Share", "Change"]
    assert [row[:4] for row in rows] == [
        ["Chat app", "60", "75 %", "▲ 100 % was 30"],
        ["new", "20", "25 %", "was 0"],
        ["website", "0", "0 %", "▼ 100 % was 40"],
    ]
    page = signed_in.open(path).text
    for order, names in (("sort=change", ["new", "Chat app", "website"]), ("", ["Chat app", "new", "website"])):
        (link,) = [
            html.unescape(one)
            for one in re.findall(r'href="[^"]*(/analytics[^"]*)#breakdown"', page)
            if ("sort=change" in one) == bool(order)
        ]
        page = signed_in.open(link).text
        assert [row[0] for row in breakdown(page)[1]] == names
        assert re.findall(r'aria-sort="descending"><a[^>]*>(\w+)', page) == ["Change" if order else "Messages"]


def test_the_breakdown_says_which_figures_it_has(browser: Browser, workspace: NewWorkspace, workspace_api: Api) -> None:
    """Only page loads, which count visitors, have a country."""
    yesterday = clock.iso(clock.seconds() - _DAY)[:10]
    count(workspace.workspace_id, "support", yesterday, 0, "NL", newVisitors=5, loads=9)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    page = browser.open("/analytics?by=country&chart=handoffs").text
    hint = re.findall(r"<p class=.hint.>(“.*?)</p>", page)[0]
    assert re.sub("<[^>]+>", "", hint) == (
        "“Handoffs” has no values in this breakdown. It has: New visitors, Page loads"
    )
    assert breakdown(page)[1] == [["Netherlands", "5", "100 %", "was 0"]]
    for path, title in re.findall(r'href="[^"]*(/analytics[^"]*)#breakdown">([^<]*)<', hint):
        page = browser.open(html.unescape(path)).text
        assert f"<h2>{title} by country</h2>" in page and "has no values" not in page
    page = browser.open("/analytics?by=country").text
    assert "has no values" not in page and 'aria-label="New visitors: 5' in page


def test_agents_are_compared(signed_in: Browser, workspace: NewWorkspace, workspace_api: Api) -> None:
    workspace_api.post("/v2/agents/sales", {"title": "Sales desk"})
    workspace_api.post("/v2/orgs/acme", {"name": "Acme Travel", "widgetIDs": ["support", "sales"]})
    count(workspace.workspace_id, "sales", clock.iso(clock.seconds())[:10], 0, "website", conversations=60)
    signed_in.start_session(email="bo@acme.test", password=PASSWORD)
    page = signed_in.open("/analytics?by=agent").text
    assert [row[:3] for row in breakdown(page)[1]] == [["Sales desk", "60", "75 %"], ["Support", "20", "25 %"]]
    assert "agent=sales" in target(page, "Sales desk") and "<strong>80</strong>" in page
    assert breakdown(signed_in.open("/analytics?by=agent&agent=sales").text)[1][0][:3] == ["Sales desk", "60", "100 %"]
    file = signed_in.open("/analytics.csv?by=agent&days=7").text
    assert file.startswith("agent,from,") and file.count("\nsales,") == file.count("\nsupport,") == 7


def test_bars_lead_to_their_breakdown(signed_in: Browser, workspace: NewWorkspace, workspace_api: Api) -> None:
    yesterday = clock.iso(clock.seconds() - _DAY)[:10]
    count(workspace.workspace_id, "support", yesterday, 0, "NL", newVisitors=5)
    pattern = r'<h2><a href="[^"]*(/analytics[^"]*)#breakdown">([^<]*)</a></h2>'
    links = re.findall(pattern, signed_in.open("/overview?days=7").text)
    assert [title for _, title in links] == [
        "New visitors by country",
        "Conversations by agent",
        "Conversations by origin",
    ]
    for path, title in links:
        page = signed_in.open(html.unescape(path)).text
        assert f"<h2>{title}</h2>" in page and '<option value="7" selected>' in page
    workspace_api.post("/v2/clients/bo", {"canAccess": ["/overview"]})
    signed_in.start_session(email="bo@acme.test", password=PASSWORD)
    page = signed_in.open("/overview").text
    assert "<h2>Conversations by agent</h2>" in page and "/analytics" not in page


def test_the_list_examines_only_the_requested_time(signed_in: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    now = clock.seconds()
    monkeypatch.setattr(all_conversations, "MAX_EXAMINED", 1)
    page = signed_in.open(f"/convos?tab=all&from={now - 50 * _DAY}&to={now - 30 * _DAY}")
    assert names_in(page) == ["Before"] and "cursor=" not in page.text
    assert signed_in.open("/convos?tab=all&from=x").status == 400


def test_the_handoff_rate_is_the_share_of_conversations(
    signed_in: Browser, workspace: NewWorkspace, workspace_api: Api
) -> None:
    earlier = clock.iso(clock.seconds() - 40 * _DAY)[:10]
    page = signed_in.open("/analytics").text.replace('<span class="change"></span>', "")
    assert "Handoff rate</a><strong>15.0 %</strong></li>" in page
    count(workspace.workspace_id, "support", earlier, 0, "website", conversations=10, handoffs=3)
    figure = signed_in.open("/analytics").text.partition("Handoff rate</a>")[2].partition("</li>")[0]
    assert "<strong>15.0 %</strong>" in figure and "was 30.0 %" in figure
    assert '<span class="change better">▼ 15.0 pts<' in figure
    assert "<strong>–</strong>" in signed_in.open("/analytics?from=2026-01-01&to=2026-01-02").text


def test_conversations_without_a_handoff_have_a_tile(signed_in: Browser, workspace: NewWorkspace) -> None:
    """Handoffs of earlier conversations can exceed the period's conversations; then, the figure is 0."""
    earlier = clock.iso(clock.seconds() - 40 * _DAY)[:10]
    count(workspace.workspace_id, "support", earlier, 0, "website", conversations=10, handoffs=13)
    for path in ("/overview", "/analytics"):
        tile = signed_in.open(path).text.partition("Without a person</a></span>")[2].partition("</li>")[0]
        assert "<strong>85.0 %</strong><small>17 conversations</small>" in tile
        assert '<span class="change better">▲ 85.0 pts<' in tile and "was 0.0 %" in tile
    groups = signed_in.open("/analytics?by=origin&chart=unassistedRate").text.partition('id="breakdown"')[2]
    assert '<td class="figure">85.0 %</td>' in groups


@pytest.mark.parametrize(("zone", "day", "hour"), [("UTC", "Wed", 23), ("Europe/Amsterdam", "Thu", 0)])
@pytest.mark.parametrize("by", ["", "&by=origin"])
def test_the_heat_map_is_in_the_time_zone_of_the_period(
    zone: str, day: str, hour: int, by: str, browser: Browser, workspace: NewWorkspace
) -> None:
    for date, at, number in (("2026-02-04", 23, 7), ("2026-02-05", 9, 2), ("2026-01-28", 23, 50)):
        count(workspace.workspace_id, "support", date, at, "website", conversations=number)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    page = browser.open(f"/analytics?from=2026-02-02&to=2026-02-08&tz={zone}{by}").text
    shift = 0 if zone == "UTC" else 1
    rows = page.partition('class="card heat"')[2].partition("<tbody>")[2].partition("</tbody>")[0]
    counted = {
        f"{name} {at}:00: {number}": level
        for name, cells in re.findall(r'<th scope="row">(\w+)</th>(.*?)</tr>', rows)
        for at, (level, number) in enumerate(re.findall(r'<td(?: class="h(\d)")?>(\d*)(?=<|$)', cells))
        if level or number
    }
    assert counted == {f"{day} {hour}:00: 7": "4", f"Thu {9 + shift}:00: 2": "2"}
    assert "<h2>Conversations by weekday and hour</h2>" in page
    assert rows.count("<td") == 7 * 24
    assert "style=" not in page


@pytest.mark.parametrize(
    ("chart", "title", "number"),
    [("handoffs", "Handoffs", 3), ("handoffRate", "Handoffs", 3), ("averageSeconds", "Conversations", 7)],
)
def test_the_heat_map_has_the_count_of_the_chart(
    chart: str, title: str, number: int, browser: Browser, workspace: NewWorkspace
) -> None:
    count(workspace.workspace_id, "support", "2026-02-04", 23, "website", conversations=7, handoffs=3)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    page = browser.open(f"/analytics?from=2026-02-02&to=2026-02-08&chart={chart}").text
    heat = page.partition('class="card heat"')[2].partition("</table>")[0]
    assert f"<h2>{title} by weekday and hour</h2>" in heat
    assert re.findall(r'class="h4">(\d+)', heat) == [str(number)]
