"""The search for pages and records by name."""

import re

import pytest

from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.builders import state_body
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.extensions.console.rows import CANARY, World, build
from tests.fast_moto import restore_or_create


@pytest.fixture
def world(workspace: NewWorkspace, workspace_api: Api) -> World:
    """Create two organisations; one organisation's records contain the canary."""
    return restore_or_create("records of the console", lambda: build(workspace, workspace_api))[0]


def places(browser: Browser, query: str) -> list[str]:
    """Return the paths of the results, in order."""
    answer = browser.open(f"/jump{query}")
    assert answer.status == 200
    results = answer.text.partition("places-search")[2]
    return [path.removeprefix(browser.home) for path in re.findall(r'<li><a href="([^"]*)"', results)]


def test_without_a_text_the_search_lists_the_pages_that_the_person_may_open(world: World) -> None:
    assert places(world.browser("shut@acme.test"), "") == ["/account"]
    person, operator = places(world.browser("pat@acme.test"), ""), places(world.browser(""), "")
    assert "/convos" in person and "/settings" not in person and "/settings/workspace" not in person
    assert {"/settings", "/settings/workspace", "/settings#webhooks", "/new-agent"} < {*operator}


def test_an_operator_finds_each_kind_of_record(world: World) -> None:
    operator = world.browser("")
    webhook = f"/settings/webhooks/{world.ids['webhook_id']}"
    records = ["/convos/support/ann", "/agents/support", "/settings/orgs/acme/clients/kim", webhook]
    assert places(operator, f"?q={CANARY.upper()}")[:4] == records
    assert places(operator, "?q=acme")[0] == "/settings/orgs/acme"
    assert re.search(r"<mark>Acme</mark>.*?<small>1 agent</small>", operator.open("/jump?q=acme").text)


def test_an_administrator_finds_only_the_records_of_the_organisation(world: World) -> None:
    assert places(world.browser("ada@acme.test"), "?q=canary")[:3] == [
        "/convos/support/ann", "/agents/support", "/settings/orgs/acme/clients/kim",
    ]  # fmt: skip
    for email in ("mal", "eve", "lone", "lost", "shut"):
        text = world.browser(f"{email}@acme.test").open("/jump?q=canary").text
        assert CANARY not in text and "/settings/orgs/acme" not in text, email


def test_names_that_begin_with_the_text_come_first_and_searches_last(browser: Browser, workspace_api: Api) -> None:
    workspace_api.patch("/v3/agents/support", {"agent": {"title": "The best over here"}})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    assert places(browser, "?q=+OVE") == ["/overview", "/agents/support", "/convos?tab=all&amp;q=OVE", "/leads?q=OVE"]
    assert "<mark>over</mark> here" in browser.open("/jump?q=over").text


def test_a_text_that_is_too_long_is_truncated(browser: Browser) -> None:
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    assert browser.open(f"/jump?q={'x' * 5000}").status == 200


def test_without_a_text_the_search_begins_with_who_waits_longest(
    browser: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    for name in ("Ann", "Ben", "Cy", "Di", "Eve", "Fay"):
        body = state_body("Hello") | {"metadata": {"userName": name, "state": "requested_chat"}}
        workspace_api.post(f"/agents/support/interact/{name}/state", body)
        pass_time(60)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    assert places(browser, "")[:7] == [
        *(f"/convos/support/{name}" for name in ("Ann", "Ben", "Cy", "Di", "Eve")),
        "/agents/support",
        "/overview",
    ]
    assert "/convos/support/Ann" not in places(browser, "?q=overview")
    assert places(browser, "?q=E")[:2] == ["/convos/support/Eve", "/convos/support/Ben"]
    page = browser.open("/jump").text
    rows = re.findall(r"<li><a[^>]*>(.*?)</a></li>", page.partition("places-search")[2])
    assert ["<span>Hello</span>" in rows[0], "<time" in rows[0], "<kbd" in rows[0], "<kbd" in rows[1]] == [
        True, True, True, False,
    ]  # fmt: skip
    assert "<small>6 waiting</small>" in rows[5]


def test_the_search_begins_with_what_the_person_may_do_at_once(world: World) -> None:
    def actions(browser: Browser, query: str = "") -> list[str]:
        part = browser.open(f"/jump{query}").text.partition('class="quick"')[2].partition("</p>")[0]
        return [path.removeprefix(browser.home) for path in re.findall(r'<a[^>]* href="([^"]*)"', part)]

    operator = world.browser("")
    assert actions(operator) == ["/convos/support/ann", "/new-agent"]
    operator.submit(operator.open("/organisation"), "/organisation", {"org": "acme", "next": ""})
    assert actions(operator)[-1] == "/settings/orgs/acme/new-client" and actions(operator, "?q=acme") == []
    assert actions(world.browser("ada@acme.test"))[-1] == "/settings/orgs/acme/new-client"
    assert actions(world.browser("shut@acme.test")) == []
    assert not any("/settings" in path for path in actions(world.browser("pat@acme.test")))


def test_the_pages_of_operators_have_different_icons(world: World) -> None:
    icons = re.findall(
        r"icons[.]\w+[.]svg#(\w+)", world.browser("").open("/jump").text.partition('data-kind="page"')[2]
    )
    assert len({*icons}) > 10 and icons.count("settings") == 2


def test_a_search_finds_visitors_who_wait_and_those_of_the_own_conversations(
    browser: Browser, workspace_api: Api
) -> None:
    for name, state in (("Ann Bos", "requested_chat"), ("Ben Bos", "human-chatting"), ("Cy Bos", "ai-chatting")):
        metadata = {"userName": name, "state": state, "chatAssignedTo": "bo"}
        body = state_body("Hello") | {"metadata": metadata}
        workspace_api.post(f"/agents/support/interact/{name[:2]}/state", body)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    assert places(browser, "?q=bos")[:3] == ["/convos/support/An", "/convos/support/Be", "/convos?tab=all&amp;q=bos"]
    reply = {"messages": [{"from": "bot", "item": {"text": "Hello", "sender": "Bo de Vries"}}]}
    workspace_api.post("/v3/agents/support/convos/Be/messages", reply)
    assert places(browser, "?q=bos")[:3] == ["/convos/support/An", "/convos/support/Be", "/convos?tab=all&amp;q=bos"]
    assert re.findall("<h2[^>]*>([^<]*)", browser.open("/jump?q=bos").text) == ["Waiting for a person", "Mine"]
    workspace_api.post("/v2/clients/bo", {"canAccess": ["/leads"]})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    assert places(browser, "?q=bos") == ["/leads?q=bos"]


def test_the_first_of_any_results_has_the_focus(world: World) -> None:
    def focus(browser: Browser, query: str) -> list[str]:
        return re.findall("<(?:a|input)(?=[^>]* autofocus)[^>]*>", browser.open(f"/jump{query}").text)

    operator, shut = world.browser(""), world.browser("shut@acme.test")
    assert [len(focus(one, query)) for one in (operator, shut) for query in ("", "?q=acme", "?q=xyzzy")] == [1] * 6
    assert "/settings/orgs/acme" in focus(operator, "?q=acme")[0]
    assert "/convos?tab=all&amp;q=xyzzy" in focus(operator, "?q=xyzzy")[0]
    assert 'name="q"' in focus(operator, "")[0] and 'name="q"' in focus(shut, "?q=xyzzy")[0]
    assert "<strong>All conversations with “xyzzy”</strong>" in operator.open("/jump?q=xyzzy").text


def test_the_field_names_what_the_person_can_find(world: World) -> None:
    hints = [
        {*re.findall('name="q"[^>]*placeholder="([^"]*)"', world.browser(email).open("/jump").text)}
        for email in ("", "pat@acme.test", "shut@acme.test")
    ]
    assert hints == [{"Page, agent, waiting visitor, person"}, {"Page, agent, waiting visitor"}, {"Page"}]


def test_results_of_a_kind_are_together_and_the_best_kind_is_first(world: World) -> None:
    def headings(query: str) -> list[str]:
        page = operator.open(f"/jump{query}").text.partition("places-search")[2]
        return re.findall(r"<h2[^>]*>([^<]*)", page)

    operator = world.browser("")
    assert headings("") == ["Waiting for a person", "Agents", "Organisations", "Pages"]
    assert headings("?q=acme") == ["Organisations", "People"]
    assert headings("?q=organisation")[0] == "Pages"
    assert world.browser("shut@acme.test").open("/jump").text.count("<h2") == 1


def test_the_enter_key_opens_the_first_place(browser: Browser, workspace_api: Api) -> None:
    """Without a text, the form sends an empty search."""
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    assert "<h1>Support</h1>" in browser.open("/jump?q=").text
    body = state_body("Hello") | {"metadata": {"userName": "Ann", "state": "requested_chat"}}
    workspace_api.post("/agents/support/interact/ann/state", body)
    assert "Hello" in browser.open("/jump?q=+").text


def test_the_enter_key_in_the_dialog_opens_the_first_result(world: World) -> None:
    operator, shut = world.browser(""), world.browser("shut@acme.test")
    assert "<h1>Acme</h1>" in operator.open("/jump?q=acme&first=1").text
    assert "No conversations match" in operator.open("/jump?q=xyzzy&first=1").text
    assert "Nothing has this name." in shut.open("/jump?q=xyzzy&first=1").text


def test_a_visitor_without_a_name_has_the_short_name_of_the_lists(browser: Browser, workspace_api: Api) -> None:
    body = state_body("Hello") | {"metadata": {"state": "requested_chat"}}
    workspace_api.post(f"/agents/support/interact/{'f2e7ce' + '0' * 26}/state", body)
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    assert "<strong>Visitor f2e7ce</strong>" in browser.open("/jump").text
