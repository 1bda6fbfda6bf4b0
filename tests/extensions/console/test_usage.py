"""The usage page: its periods, its sums by organisation, the comparison with the period before, and its file."""

import csv
import html
import re

import pytest

from chalicelib import clock
from chalicelib.extensions.console.settings_pages import record_names
from chalicelib.workspaces.store import NewWorkspace
from tests import extensions
from tests.api import Api
from tests.conftest import PassTime, StopClock
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import HOSTILE

extensions.require("erasures", "history", "reports")

from tests.extensions.console.stored_counts import count
from tests.extensions.console.test_operator_pages import rows
from tests.extensions.reports.test_recreated_counts import recreate
from tests.followers import follow
from tests.webhooks.pipeline import Stream

JANUARY = "?from=2026-01-01&to=2026-01-31"


def table(text: str) -> list[list[str]]:
    """Return the texts of the rows without their changes, shares and empty cells."""
    plain = re.sub(r'<span class="(?:change|share)[^>]*>[^<]*</span>', "", text)
    return [[cell for cell in row if cell] for row in rows(plain)]


def test_usage_lists_each_agent_and_downloads_each_day(operator: Browser, workspace: NewWorkspace) -> None:
    today = clock.iso(clock.seconds())[:10]
    count(workspace.workspace_id, "support", today, 0, "NL", conversations=1200, messages=80)
    count(workspace.workspace_id, "support", "2026-01-05", 9, "NL", conversations=7, messages=8)
    page = operator.open("/settings/usage")
    assert ["Acme Travel Support", "1,200", "80", "0", "0", "0"] in table(page.text)
    assert ["Acme Travel Support", "7", "8", "0", "0", "0"] in table(
        operator.open("/settings/usage?from=2026-01-01&to=2026-01-31").text
    )
    january = operator.open("/settings/usage?from=2026-01-01&to=2026-01-31")
    assert ["Total", "7", "8", "0", "0", "0"] in table(january.text)
    later = operator.open("/settings/usage?from=2026-01-06&to=2026-01-07").text
    assert table(later)[-1] == ["Previous 2 days", "7", "8", "0", "0", "0"]
    assert "Previous" not in operator.open("/settings/usage?to=2026-01-31").text
    file = operator.open("/settings/usage.csv?from=2026-01-01&to=2026-01-31")
    assert file.headers["content-disposition"] == 'attachment; filename="usage.csv"'
    lines = file.text.splitlines()
    assert lines[0] == (
        "organisation,organisationId,agent,agentId,day,conversations,messages,interactions,deliveries,leads"
    )
    assert "Acme Travel,acme,Support,support,2026-01-05,7,8,0,0,0" in lines


def test_usage_is_summed_by_organisation(operator: Browser, workspace: NewWorkspace, workspace_api: Api) -> None:
    for agent in ("second", "other", "free"):
        assert workspace_api.post(f"/v2/agents/{agent}", {"title": agent.title()}).status == 200
    for org, agents in (("acme", ["support", "second"]), ("beta", ["other", "deleted"])):
        assert workspace_api.post(f"/v2/orgs/{org}", {"name": org.title(), "widgetIDs": agents}).status == 200
    for number, agent in enumerate(("support", "second", "other", "free"), 1):
        count(workspace.workspace_id, agent, "2026-01-05", 9, "NL", conversations=number, messages=10)
    january = "/settings/usage?from=2026-01-01&to=2026-01-31"
    assert [(row[0], row[1]) for row in table(operator.open(january).text)][:6] == [
        ("Acme", "3"), ("Second", "2"), ("Support", "1"), ("Beta Other", "3"), ("Free No organisation", "4"),
        ("Total", "10"),
    ]  # fmt: skip
    beta = operator.open(f"{january}&org=beta").text
    assert [(row[0], row[1]) for row in table(beta)[:2]] == [("Beta Other", "3"), ("Total", "3")]
    assert "org=beta" in beta.partition("usage.csv")[2][:80]
    assert operator.open("/settings/usage.csv?from=2026-01-01&to=2026-01-31&org=beta").text.splitlines()[1:] == [
        "Beta,beta,Other,other,2026-01-05,3,10,0,0,0"
    ]
    assert operator.open(f"{january}&org=unknown").status == 404


def test_usage_of_an_organisation_continues_after_20_agents(operator: Browser, workspace_api: Api) -> None:
    agents = [f"a{number:02}" for number in range(21)]
    for agent in agents:
        assert workspace_api.post(f"/v2/agents/{agent}", {"title": agent}).status == 200
    assert workspace_api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": agents}).status == 200
    first = operator.open("/settings/usage?org=acme").text
    assert rows(first)[0][0] == "Acme Total of this page a00, a01, a02 and 17 more"
    (more,) = re.findall(r'href="[^"]*/settings/usage(\?[^"]*cursor=20)"', first)
    last = operator.open(f"/settings/usage{html.unescape(more)}").text
    assert "a20" not in str(rows(first)) and "a20" in str(rows(last))
    # The totals of all agents are unknown, so neither page has shares.
    assert ["Share" in page or "share" in page for page in (first, last)] == [False, False]


@pytest.mark.parametrize("query", ["?cursor=%20", "?cursor=%3F", "?org=acme&cursor=x"])
def test_an_invalid_cursor_is_not_an_invalid_period(query: str, operator: Browser) -> None:
    page = operator.open(f"/settings/usage{query}")
    assert (page.status, "wrong-from" in page.text) == (400, False)
    assert "cursor must be the nextCursor of an earlier response." in page.text


def test_usage_covers_this_month_and_offers_other_periods(operator: Browser, stop_clock: StopClock) -> None:
    stop_clock(1_772_452_800)  # 2 March 2026, 12:00
    page = operator.open("/settings/usage").text
    assert re.findall(r'name="(from|to)" type="date" max="2999-12-31" value="([^"]*)"', page) == [
        ("from", "2026-03-01"), ("to", "2026-03-02"),
    ]  # fmt: skip
    periods = dict(re.findall(r'usage\?from=([^"]*)"(?: aria-current="true")?>([^<]*)</a>', page))
    assert periods == {
        "2026-03-01&amp;to=2026-03-02": "This month",
        "2026-02-01&amp;to=2026-02-28": "Last month",
        "2026-02-01&amp;to=2026-03-02": "Last 30 days",
        "2025-12-03&amp;to=2026-03-02": "Last 90 days",
    }
    assert re.findall(r'aria-current="true">([^<]*)<', page) == ["This month"]
    assert (
        'id="to" name="to" type="date" max="2999-12-31" value="2026-03-02"'
        in operator.open("/settings/usage?from=2026-02-10").text
    )


@pytest.mark.parametrize("query", ["from=x", "from=2026-02-01&to=2026-01-01", "from=2024-01-01&to=2026-01-01"])
def test_an_invalid_period_is_shown_at_its_field(query: str, operator: Browser) -> None:
    page = operator.open(f"/settings/usage?{query}")
    assert (page.status, 'id="wrong-from"' in page.text) == (400, True)


def test_usage_is_compared_with_the_period_before(
    operator: Browser, workspace: NewWorkspace, workspace_api: Api
) -> None:
    workspace_api.post("/v2/agents/second", {"title": "Second"})
    for org, agents in (("acme", ["support", "second"]), ("beta", ["other"])):
        workspace_api.post(f"/v2/orgs/{org}", {"name": org.title(), "widgetIDs": agents})
    for day, numbers in {"2026-01-05": (10, 4, 6), "2025-12-05": (5, 3, 0)}.items():
        for agent, conversations in zip(("support", "second", "other"), numbers, strict=True):
            count(workspace.workspace_id, agent, day, 9, "NL", conversations=conversations, messages=8)
    page = operator.open(f"/settings/usage{JANUARY}").text
    changes = {row[0]: row[2] for row in rows(page) if "▲" in row[2]}
    assert changes == {"Acme": "14 ▲ 75 %", "Total": "20 ▲ 150 %"}
    assert '<span class="change better" title="was 8">▲ 75 %</span>' in page
    assert re.findall('<span class="share">([^<]*)<', page) == ["70 %", "50 %", "20 %", "30 %"]
    assert re.findall('<rect width="([^"]*%)"', page) == ["100%", "40%", "60%"]


def test_a_file_of_usage_names_the_organisations_of_each_agent(
    operator: Browser, workspace: NewWorkspace, workspace_api: Api
) -> None:
    for org, name in (("acme", "=Acme"), ("beta", HOSTILE * 10)):
        workspace_api.post(f"/v2/orgs/{org}", {"name": name, "widgetIDs": ["support"]})
    for agent in ("support", "other"):
        count(workspace.workspace_id, agent, "2026-01-05", 9, "NL", conversations=1)
    lines = operator.open(f"/settings/usage.csv{JANUARY}").text.splitlines()
    found = {(line["agentId"], line["organisationId"], line["organisation"]) for line in csv.DictReader(lines)}
    long = f"{(HOSTILE * 10)[:50]} …"
    assert found == {("support", "beta, acme", f"{long}, '=Acme"), ("other", "", "")}


def test_a_file_of_usage_leads_to_the_next_file(
    operator: Browser, workspace: NewWorkspace, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chalicelib.extensions.console.figure_pages.usage_file.MAX_PAGES", 1)
    agents = [f"a{number:02}" for number in range(21)]
    for agent in agents:
        workspace_api.post(f"/v2/agents/{agent}", {"title": agent})
        count(workspace.workspace_id, agent, "2026-01-05", 9, "NL", conversations=1)
    workspace_api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": agents})
    for query in (JANUARY, f"{JANUARY}&org=acme"):
        first = operator.open(f"/settings/usage.csv{query}")
        assert first.headers["content-disposition"] == 'attachment; filename="usage-part.csv"'
        *_, (text, address) = csv.reader(first.text.splitlines())
        assert text == "Incomplete. Continue with this file:"
        second = operator.open(address.removeprefix(operator.home))
        assert second.headers["content-disposition"] == 'attachment; filename="usage-part.csv"'
        listed = [line["agentId"] for one in (first, second) for line in csv.DictReader(one.text.splitlines())]
        assert [agent for agent in listed if agent in agents] == agents
        assert "Incomplete" not in second.text


def test_every_organisation_can_be_selected(
    operator: Browser, workspace: NewWorkspace, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chalicelib.extensions.console.access.organisation_list._PAGE_SIZE", 1)
    workspace_api.post("/v2/orgs/beta", {"name": "Beta", "widgetIDs": ["other"]})
    count(workspace.workspace_id, "other", "2026-01-05", 9, "NL", conversations=1)
    page = operator.open(f"/settings/usage{JANUARY}").text
    assert '<option value="beta">Beta</option>' in page
    assert ["Beta Other", "1", "0", "0", "0", "0"] in table(page) and "Only the first" not in page
    monkeypatch.setattr("chalicelib.extensions.console.access.organisation_list._MAX_PAGES", 1)
    assert "Only the first 1 organisations are known here." in operator.open(f"/settings/usage{JANUARY}").text
    page = operator.open(f"/settings/usage{JANUARY}&org=beta").text
    assert '<option value="beta" selected>Beta</option>' in page and table(page)[0][:2] == ["Beta Other", "1"]


def test_usage_of_a_month_leads_to_its_neighbours(operator: Browser, stop_clock: StopClock) -> None:
    stop_clock(1_772_452_800)  # 2 March 2026, 12:00
    for period, neighbours in {
        "2026-01-01&to=2026-01-31": {"‹ Dec 2025": "2025-12-01&to=2025-12-31"},
        "2025-12-01&to=2025-12-31": {
            "‹ Nov 2025": "2025-11-01&to=2025-11-30", "Jan 2026 ›": "2026-01-01&to=2026-01-31",
        },
        "2025-04-01&to=2025-04-30": {"May 2025 ›": "2025-05-01&to=2025-05-31"},
        "2026-03-01&to=2026-03-02": {}, "2026-01-01&to=2026-02-28": {}, "x&to=": {}, "2026-01-02&to=2026-01-31": {},
    }.items():  # fmt: skip
        page = html.unescape(operator.open(f"/settings/usage?from={period}").text)
        found = dict(reversed(pair) for pair in re.findall(r'usage\?from=([^"]*)">([^<]* ›|‹ [^<]*)</a>', page))
        assert found == neighbours


def test_usage_draws_each_count_by_day(operator: Browser, workspace: NewWorkspace, stop_clock: StopClock) -> None:
    stop_clock(1_767_787_200)  # 7 January 2026, 12:00
    for day, number in (("05", 7), ("06", 14), ("07", 99)):
        count(workspace.workspace_id, "support", f"2026-01-{day}", 9, "NL", conversations=number)
    page = operator.open("/settings/usage?from=2026-01-04&to=2026-01-31").text
    tiles = page.partition('<ul class="tiles five"')[2].partition("</ul>")[0]
    assert re.findall("<strong>([^<]*)</strong>", tiles) == ["120", "0", "0", "0", "0"]
    assert '<path d="M-1,100 0,100 1,50 2,0 3,0' in tiles  # today is not over
    for period in ("from=2026-01-05&to=2026-01-05", "to=2026-01-31"):
        page = operator.open(f"/settings/usage?{period}")
        assert (page.status, 'class="tiles' in page.text) == (200, False)


def test_a_deleted_agent_remains_in_its_organisations_usage(
    operator: Browser, workspace: NewWorkspace, workspace_api: Api
) -> None:
    history = Stream()
    assert workspace_api.post("/v2/agents/tours", {"title": "Canal Tours"}).status == 200
    assert workspace_api.post("/v2/orgs/boats", {"name": "Boats", "widgetIDs": ["tours"]}).status == 200
    today = clock.iso(clock.seconds())[:10]
    count(workspace.workspace_id, "tours", today, 0, "NL", conversations=9, messages=20)
    assert "usage stays for 400 days" in operator.open("/agents/tours/delete").text
    follow("agents", history.read("agents"))
    assert workspace_api.delete("/v3/agents/tours").status == 200
    for query in ("", "?org=boats"):
        page = operator.open(f"/settings/usage{query}")
        assert "Boats Canal Tours (deleted)" in [row[0] for row in table(page.text)]
        assert "agents/tours" not in page.text
        lines = operator.open(f"/settings/usage.csv{query}").text.splitlines()
        assert f"Boats,boats,Canal Tours (deleted),tours,{today},9,20,0,0,0" in lines


def test_a_deleted_agent_whose_id_is_in_use_again_is_in_no_organisation(
    operator: Browser, workspace: NewWorkspace, workspace_api: Api, pass_time: PassTime
) -> None:
    today = clock.iso(clock.seconds())[:10]
    assert workspace_api.post("/v2/orgs/boats", {"name": "Boats", "widgetIDs": ["support"]}).status == 200
    count(workspace.workspace_id, "support", today, 0, "NL", conversations=9)
    recreate(workspace_api, pass_time)
    whole = [row[:2] for row in table(operator.open("/settings/usage").text)]
    assert whole[:4] == [
        ["Acme Travel support", "0"], ["Boats support", "0"], ["No organisation", "9"], ["support (deleted)", "9"],
    ]  # fmt: skip
    assert [row[1] for row in table(operator.open("/settings/usage?org=boats").text)][:1] == ["0"]
    lines = operator.open("/settings/usage.csv").text.splitlines()[1:]
    assert [line.split(",")[:4] for line in lines] == [["", "", "support (deleted)", "support"]]


def test_a_deleted_agent_has_its_id_without_the_extension_history(
    operator: Browser, workspace: NewWorkspace, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    count(workspace.workspace_id, "support", clock.iso(clock.seconds())[:10], 0, "NL", conversations=9)
    assert workspace_api.delete("/v3/agents/support").status == 200
    monkeypatch.setattr(record_names, "_VERSIONS", None)
    monkeypatch.setattr(record_names.extensions, "has", lambda name: name != "history")
    for path in ("/settings/usage", "/settings/usage.csv"):
        assert "support (deleted)" in operator.open(path).text


def test_a_period_whose_deleted_agents_do_not_fit_is_not_compared(
    operator: Browser, workspace: NewWorkspace, workspace_api: Api, stop_clock: StopClock
) -> None:
    stop_clock(1_773_748_800)  # 17 March 2026, 12:00
    today, yesterday = (clock.iso(clock.seconds() - days * 24 * 60 * 60)[:10] for days in (0, 1))
    count(workspace.workspace_id, "support", today, 0, "NL", conversations=5)
    for number in range(21):
        assert workspace_api.post(f"/v2/agents/a{number:02}", {"title": "A"}).status == 200
        count(workspace.workspace_id, f"a{number:02}", yesterday, 0, "NL", conversations=1)
        assert workspace_api.delete(f"/v3/agents/a{number:02}").status == 200
    page = operator.open(f"/settings/usage?from={today}&to={today}").text
    assert "Total" in page and "Previous" not in page and "Previous" in operator.open("/settings/usage").text
