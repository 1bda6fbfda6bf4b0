"""The tab All in the console: its pages over several agents, and its filters."""

import html
import re
from datetime import datetime
from random import Random
from zoneinfo import ZoneInfo

import pytest

from chalicelib import clock
from chalicelib.extensions.console.inbox_pages import all_conversations
from chalicelib.extensions.console.presentation import trial_marks
from tests.api import Api
from tests.capacity import metered
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.extensions.console.test_inbox import converse, names_in, tab_counts
from tests.extensions.console.test_inbox_updates import update_path

AGENTS = [f"agent-{number}" for number in range(12)]


@pytest.fixture
def signed_in(browser: Browser, workspace_api: Api) -> Browser:
    """Return the browser of a client who sees twelve agents."""
    for agent_id in AGENTS:
        workspace_api.post(f"/v2/agents/{agent_id}", {"title": agent_id})
    workspace_api.post("/v2/orgs/acme", {"name": "Acme Travel", "widgetIDs": AGENTS})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    return browser


def fill(api: Api, pass_time: PassTime, number: int) -> list[str]:
    """Create conversations, more of them with the last agent than with others. Return their names, newest first."""
    names = [f"V{place:02}" for place in range(number)]
    for place, name in enumerate(names):
        pass_time(60)
        converse(api, AGENTS[min(place % 20, 11)], name, ("ended_chat", "ai-chatting")[place % 2])
    return names[::-1]


def pages(browser: Browser, path: str) -> list[list[str]]:
    """Return the names on each page of the list."""
    listed: list[list[str]] = []
    while path:
        page = browser.open(path)
        assert page.status == 200
        listed.append(names_in(page))
        following = re.findall(r'href="[^"]*/convos(\?[^"]*)">(?:Older|Search older) conversations<', page.text)
        path = f"/convos{html.unescape(following[0])}" if following else ""
    return listed


def names_on_all(browser: Browser, path: str) -> list[str]:
    return [name for page in pages(browser, path) for name in page]


def test_the_pages_list_each_conversation_of_all_agents_once(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = fill(workspace_api, pass_time, 43)
    assert pages(signed_in, "/convos?tab=all") == [names]
    converse(workspace_api, AGENTS[0], "V00", "ai-chatting")  # new activity in the oldest conversation
    monkeypatch.setattr(all_conversations, "MAX_ROWS", 9)
    assert pages(signed_in, "/convos?tab=all") == [names[start : start + 9] for start in range(0, 43, 9)]
    of_one = [name for name in names if int(name[1:]) % 20 >= 11]
    assert names_on_all(signed_in, "/convos?agent=agent-11") == of_one
    assert signed_in.open("/convos?tab=all&cursor=x%23").status == 400


def test_all_conversations_of_ten_agents_are_counted(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    def number() -> str:
        return tab_counts(signed_in.open("/convos"))[-1]

    fill(workspace_api, pass_time, 20)  # two of the twelve agents are not counted
    assert number() == "10+"
    workspace_api.post("/v2/orgs/acme", {"name": "Acme Travel", "widgetIDs": AGENTS[2:]})
    pass_time(31)  # the session caches the agents
    assert number() == "18"
    workspace_api.patch(f"/v3/agents/{AGENTS[11]}", {"agent": {"retention": {"days": 1}}})
    converse(workspace_api, AGENTS[11], "New", "ended_chat")
    assert number() == "19"
    pass_time(25 * 60 * 60)
    signed_in.start_session(email="bo@acme.test", password=PASSWORD)
    assert number() == "18"


def test_trials_are_listed_and_counted_but_do_not_wait(signed_in: Browser, workspace_api: Api) -> None:
    for name in (f"{trial_marks.PREFIX}1", "Ann"):
        converse(workspace_api, AGENTS[0], name, "requested_chat")
    workspace_api.patch(
        f"/v3/agents/{AGENTS[0]}/convos/{trial_marks.PREFIX}1", {"conversation": {"tags": [trial_marks.TAG]}}
    )
    page = signed_in.open("/convos?tab=all")
    assert (sorted(names_in(page)), tab_counts(page)) == (["Ann", "try-1"], ["1", "0", "2+"])


def test_the_end_of_a_page_states_since_when_its_conversations_started(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(workspace_api, pass_time, 5)
    monkeypatch.setattr(all_conversations, "MAX_ROWS", 3)
    page = signed_in.open("/convos?tab=all").text
    assert "3 shown, started since <time" in page and "Older conversations</a>" in page and "Back to" not in page
    (following,) = re.findall(r'href="[^"]*/convos(\?[^"]*cursor=[^"]*)"', page)
    page = signed_in.open(f"/convos{html.unescape(following)}").text
    assert "2 shown, started since <time" in page and "Older conversations" not in page
    assert f'<a href="{signed_in.home}/convos?tab=all">Back to the newest</a>' in page


def test_a_page_leads_to_the_page_before_it_and_states_its_period(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = fill(workspace_api, pass_time, 12)
    monkeypatch.setattr(all_conversations, "MAX_ROWS", 3)
    for query in ("", "&q=v"):
        listed = []
        page = signed_in.open(f"/convos?tab=all{query}")
        while following := re.findall(r'href="[^"]*(/convos[?][^"]*)">(?:Older|Search older)', page.text):
            listed.append(names_in(page))
            page = signed_in.open(html.unescape(following[-1]))
            found = re.findall(r'role="status">(\d+) found.* (\d+) of them are on this page[.]', page.text)
            total = sum(map(len, listed)) + len(names_in(page))
            assert found == ([(str(total), str(len(names_in(page))))] if query else [])
        assert listed[:3] == [names[start : start + 3] for start in (0, 3, 6)]
        for expected in listed[:0:-1]:
            (newer,) = re.findall(r'href="[^"]*(/convos[?][^"]*)">Newer conversations<', page.text)
            page = signed_in.open(html.unescape(newer))
            assert names_in(page) == expected
        assert "Newer conversations" not in page.text and "Back to the newest" in page.text


def test_the_field_says_what_a_search_of_a_tab_covers(signed_in: Browser) -> None:
    for tab, text in (("waiting", "names and newest"), ("mine", "names and newest"), ("all", "names, ids and")):
        assert f'placeholder="Search {text} messages"' in signed_in.open(f"/convos?tab={tab}").text


def test_a_page_with_filters_examines_a_part_and_continues(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = fill(workspace_api, pass_time, 20)
    monkeypatch.setattr(all_conversations, "MAX_EXAMINED", 6)
    ended = [name for name in names if int(name[1:]) % 2 == 0]
    assert [len(one) for one in pages(signed_in, "/convos?state=ended_chat")] == [3, 3, 3, 1]
    assert names_on_all(signed_in, "/convos?state=ended_chat") == ended
    assert pages(signed_in, "/convos?tag=refund") == [[]] * 4
    assert "0 found so far. Searched back to <time" in signed_in.open("/convos?tag=refund").text
    for query, number in (("tag=refund", 1), ("state=ended_chat", 1), ("tab=all", 0)):
        assert signed_in.open(f"/convos?{query}").text.count(">Search older conversations</a>") == number


def test_the_filter_with_the_ai_finds_conversations_without_a_state(signed_in: Browser, workspace_api: Api) -> None:
    workspace_api.post(f"/agents/{AGENTS[0]}/interact/new/state", {"metadata": {"userName": "Nia"}})
    assert names_on_all(signed_in, "/convos?tab=all&state=ai-chatting") == ["Nia"]
    assert names_on_all(signed_in, "/convos?tab=all&state=ended_chat") == []


@pytest.mark.parametrize("query", ["", "&state=human-chatting"])
def test_a_page_costs_at_most_two_requests_per_agent(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime, query: str
) -> None:
    fill(workspace_api, pass_time, 60)
    with metered() as meter:
        assert signed_in.open(f"/convos?tab=all{query}").status == 200
    assert meter.total <= 2 * len(AGENTS) + 10


def test_long_metadata_ends_a_page_early(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = fill(workspace_api, pass_time, 6)
    for place in range(6):
        change = {
            "conversation": {"labels": {f"label{number}": Random(number).randbytes(250).hex() for number in range(5)}}
        }
        path = f"/v3/agents/{AGENTS[place]}/convos/V{place:02}"
        assert workspace_api.patch(path, change).status == 200
    monkeypatch.setattr(all_conversations, "_MAX_LONG", 4)
    assert pages(signed_in, "/convos?tab=all") == [names[:4], names[4:]]


def test_a_conversation_with_the_id_is_first_and_listed_once(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    fill(workspace_api, pass_time, 4)
    for agent_id, name in ((AGENTS[3], "V01 again"), (AGENTS[2], "V01")):
        body = {"metadata": {"userName": f"Visitor of {name}"}}
        workspace_api.post(f"/agents/{agent_id}/interact/{name.replace(' ', '-')}/state", body)
    monkeypatch.setattr(all_conversations, "MAX_SEARCHED", 3)
    monkeypatch.setattr(all_conversations, "MAX_EXAMINED", 3)
    signed_in.open("/overview")  # caches the session
    with metered() as meter:
        page = signed_in.open("/convos?q=V01")
    assert (sorted(names_in(page)), meter.total) == (["V01", "Visitor of V01"], 4)
    assert "Only conversations with this id" in page.text and "were searched" not in page.text
    names = names_on_all(signed_in, "/convos?q=V01")
    assert sorted(names[:2]) == ["V01", "Visitor of V01"] and names[2:] == ["Visitor of V01 again"]
    assert sorted(names_in(signed_in.open("/convos?q=V01&state=ai-chatting"))) == ["V01", "Visitor of V01"]
    assert names_in(signed_in.open("/convos?q=V01&state=ended_chat")) == []


def test_a_transcript_links_the_other_conversations_of_its_visitor(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    def other_conversations(path: str) -> tuple[str, list[str]]:
        link = re.search(r'href="[^"]*(/convos[?][^"]*)"><svg .*?</svg>Other conversations<', signed_in.open(path).text)
        assert link
        query = html.unescape(link[1])
        with metered() as meter:
            names = names_in(signed_in.open(query))
        assert meter.total <= 5  # no message is searched
        return query, names

    agent = AGENTS[0]
    fill(workspace_api, pass_time, 6)
    for name, metadata in (
        ("first", {"userName": "First", "userEmail": "a'&@b.test"}),
        ("second", {"userName": "Second", "userEmail": "a'&@b.test", "userID": "second"}),
        ("third", {"userName": "Third", "userEmail": "other@b.test", "userID": "visitor"}),
        ("fourth", {"userName": "Fourth", "userEmail": "a'&@b.test", "userID": "visitor"}),
    ):
        pass_time(60)
        assert workspace_api.post(f"/agents/{agent}/interact/{name}/state", {"metadata": metadata}).status == 200
    query, names = other_conversations(f"/convos/{agent}/first")
    assert ("email=a%27%26%40b.test" in query, names) == (True, ["Fourth", "Second", "First"])
    query, names = other_conversations(f"/convos/{agent}/third")
    assert ("userID=visitor" in query, names) == (True, ["Fourth", "Third"])


def test_each_filter_is_a_chip_whose_link_removes_it(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    def chips(path: str) -> dict[str, str]:
        links = re.findall(r'<a class="chip" href="([^"]*)"[^>]*><span>(.*?)</span>', signed_in.open(path).text)
        return {html.unescape(text): html.unescape(link).removeprefix(signed_in.home) for link, text in links}

    fill(workspace_api, pass_time, 2)
    assert chips("/convos?tab=all&agent=agent-1&state=ended_chat&tag='%26<b>&cursor=7zzzzzzzzzzzzzzzzzzzzzzzzz") == {
        "Agent: agent-1": "/convos?tab=all&state=ended_chat&tag=%27%26%3Cb%3E",
        "State: Ended": "/convos?tab=all&agent=agent-1&tag=%27%26%3Cb%3E",
        "Tag: '&<b>": "/convos?tab=all&agent=agent-1&state=ended_chat",
    }
    assert chips("/convos?tab=waiting&q=x") == {"Search: x": "/convos?tab=waiting"}
    assert chips("/convos?tab=all&email=a@b.test&assignedTo=bo") == {
        "Assigned to Bo de Vries": "/convos?tab=all&email=a%40b.test",
        "Visitor: a@b.test": "/convos?tab=all&assignedTo=bo",
    }
    assert chips("/convos") == {}
    page = signed_in.open("/convos?tab=all&email=a@b.test&assignedTo=bo").text
    assert '<option value="bo" selected>Bo de Vries</option>' in page and "Clear filters" in page
    assert chips("/convos?assignedTo=*none&from=2026-11-20&to=1795000000") == {
        "Unassigned": "/convos?tab=all&from=2026-11-20&to=1795000000",
        "Started on or after: 20 Nov 2026": "/convos?tab=all&to=1795000000&assignedTo=%2Anone",
        'Began before <time datetime="2026-11-18T11:06:40Z">18 Nov 11:06 UTC</time>': (
            "/convos?tab=all&from=2026-11-20&assignedTo=%2Anone"
        ),
    }
    page = signed_in.open("/convos?tab=all&from=2026-11-20&to=1795000000&assignedTo=%22%3E%3Cb%3E").text
    assert (
        'type="date" max="2999-12-31" value="2026-11-20"' in page
        and '<input type="hidden" name="to" value="1795000000">' in page
    )
    assert "<b>" not in page and page.count('type="date"') == 1
    page = signed_in.open("/convos?tab=mine&assignedTo=bo").text
    assert '<input type="hidden" name="assignedTo" value="bo">' in page and '<select id="assigned"' not in page


def test_a_filter_selects_the_unassigned_or_a_colleagues_conversations(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    for name, state, assignee in (
        ("Ann", "requested_chat", None),
        ("Bea", "requested_chat", "bo"),
        ("Cor", "ended_chat", "bo"),
        ("Dov", "ended_chat", None),
    ):
        converse(workspace_api, AGENTS[0], name, state, assignee)
        pass_time(1)
    workspace_api.post(f"/v3/agents/{AGENTS[0]}/convos/Cor/assign", {"assignToUserId": None, "state": "ended_chat"})
    for query, names in (
        ("tab=waiting&assignedTo=*none", ["Ann"]),
        ("tab=waiting&assignedTo=bo", ["Bea"]),
        ("tab=all&assignedTo=*none", ["Dov", "Cor", "Ann"]),
        ("tab=all&assignedTo=*none&state=requested_chat", ["Ann"]),
    ):
        assert names_in(signed_in.open(f"/convos?{query}")) == names


def test_days_of_a_filter_are_in_the_time_zone_of_the_person(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    workspace_api.post(
        "/v2/clients/bo", {"timezone": "Pacific/Auckland"}
    )  # its days begin eleven to thirteen hours earlier
    first = datetime(2026, 11, 20, tzinfo=ZoneInfo("Pacific/Auckland"))
    for name, hours in (("Ann", -1), ("Bea", 0), ("Cor", 23), ("Dov", 24)):
        pass_time(int(first.timestamp()) + hours * 3_600 - clock.seconds())
        converse(workspace_api, AGENTS[0], name, "ended_chat")
    signed_in.start_session(email="bo@acme.test", password=PASSWORD)
    for query, names in (
        ("from=2026-11-20", ["Dov", "Cor", "Bea"]),
        ("to=2026-11-20", ["Cor", "Bea", "Ann"]),
        ("from=2026-11-20&to=2026-11-20", ["Cor", "Bea"]),
        (f"from={int(first.timestamp()) + 1}&to=2026-11-20", ["Cor"]),
    ):
        assert names_in(signed_in.open(f"/convos?tab=all&{query}")) == names
    for tab, days, field in (("all", "from=2026-11-20&to=2026-11-19", "from"), ("mine", "to=61001-10-01", "to")):
        page = signed_in.open(f"/convos?tab={tab}&{days}")
        assert (page.status, names_in(page)) == (400, [])
        assert f'aria-invalid="true" aria-describedby="wrong-{field}"' in page.text and 'role="alert"' in page.text


def test_the_waiting_conversations_can_be_listed_newest_first(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    def link(path: str) -> tuple[str, str]:
        ((address, order),) = re.findall(
            r'<a class="hint" href="([^"]*)"[^>]*><span class="roomy">(.*?)</span>', signed_in.open(path).text
        )
        return html.unescape(address).removeprefix(signed_in.home), order

    for name in ("Ann", "Bea"):
        converse(workspace_api, AGENTS[0], name, "requested_chat")
        pass_time(60)
    newest = "/convos?tab=waiting&sort=newest"
    assert link("/convos") == (newest, "Longest wait first")
    page = signed_in.open(newest)
    assert (link(newest), names_in(page)) == (("/convos", "Newest first"), ["Bea", "Ann"])
    assert '<input type="hidden" name="sort" value="newest">' in page.text
    converse(workspace_api, AGENTS[0], "Cor", "requested_chat")
    assert names_in(signed_in.open(update_path(signed_in, page))) == ["Cor", "Bea", "Ann"]
    assert names_in(signed_in.open(f"/convos/{AGENTS[0]}/Ann?tab=waiting&sort=newest")) == ["Cor", "Bea", "Ann"]


def test_a_row_shows_two_tags_and_the_number_of_others(signed_in: Browser, workspace_api: Api) -> None:
    tags = ["<b>dog", "x" * 50, "third"]
    converse(workspace_api, AGENTS[0], "Ann", "requested_chat")
    workspace_api.patch(f"/v3/agents/{AGENTS[0]}/convos/Ann", {"conversation": {"tags": tags}})
    listed = re.findall(r'<em class="tag"[^>]*>([^<]*)</em>', signed_in.open("/convos").text)
    assert listed == ["&lt;b&gt;dog", f"{'x' * 37}...", "+1"]


def test_the_filter_suggests_the_tags_in_the_list(signed_in: Browser, workspace_api: Api) -> None:
    def suggested(path: str) -> list[str]:
        options = re.findall(r'<datalist id="known-tags">(.*?)</datalist>', signed_in.open(path).text)
        return re.findall(r'<option value="([^"]*)"', *options) if options else []

    assert suggested("/convos") == []
    for name, tags in (("Ann", ["dog", "x" * 201]), ("Bea", ["<b>cat", "dog"])):
        converse(workspace_api, AGENTS[0], name, "requested_chat")
        workspace_api.patch(f"/v3/agents/{AGENTS[0]}/convos/{name}", {"conversation": {"tags": tags}})
    assert suggested("/convos") == suggested("/convos?tab=all") == ["&lt;b&gt;cat", "dog"]
    assert (suggested("/convos?tag=other"), suggested(f"/convos/{AGENTS[0]}/Ann")) == ([], ["&lt;b&gt;cat"])


def test_an_empty_list_names_the_next_action(signed_in: Browser, workspace_api: Api) -> None:
    for path, action in (
        ("/convos", "All conversations"),
        ("/convos?tab=mine", "All conversations"),
        ("/convos?tab=all&tag=x", "Clear filters"),
    ):
        assert (
            f'<a class="button second" href="{signed_in.home}/convos?tab=all">{action}</a>' in signed_in.open(path).text
        )
