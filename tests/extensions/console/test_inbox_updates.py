"""The address at which open pages get the list of conversations and the number of waiting conversations."""

import html
import re

import pytest

from tests.api import Answer, Api
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser
from tests.extensions.console.test_inbox import converse, names_in
from tests.extensions.console.test_inbox import signed_in as signed_in

PAGES = ("/convos", "/convos?tab=mine", "/convos?tab=all", "/convos?tab=waiting&agent=sales", "/convos/sales/Ann")


def update_path(browser: Browser, page: Answer) -> str:
    """Return the address at which a page's script asks for a newer list."""
    ((address, version),) = re.findall(r'data-inbox="([^"]*)" data-version="([^"]*)"', page.text)
    path = html.unescape(address).removeprefix(browser.home)
    return f"{path}{'&' if '?' in path else '?'}version={version}"


@pytest.mark.parametrize("path", PAGES)
def test_a_list_is_sent_again_only_if_it_has_changed(path: str, signed_in: Browser, workspace_api: Api) -> None:
    converse(workspace_api, "sales", "Ann", "requested_chat", "bo")
    update = update_path(signed_in, signed_in.open(path))
    answer = signed_in.open(update)
    assert (answer.status, answer.text) == (204, "")
    converse(workspace_api, "sales", "Bea", "requested_chat", "bo")
    answer = signed_in.open(update)
    assert (answer.status, names_in(answer)) == (200, names_in(signed_in.open(path))) and "Bea" in answer.text
    assert ("Sales desk" in answer.text) == (path != "/convos/sales/Ann" and "agent=" not in path)
    assert re.search(r'data-waiting data-form="\w{64}">2</span>', answer.text)
    (version,) = re.findall(r'data-version="([^"]*)"', answer.text)
    update = re.sub("version=.*", f"version={version}", update)
    assert signed_in.open(update).status == 204
    message = {"messages": [{"from": "bot", "item": {"text": "Hello again"}}]}
    workspace_api.post("/v3/agents/sales/convos/Ann/messages", message)
    assert "<em>AI:</em> Hello again" in signed_in.open(update).text


def test_a_wait_becomes_long_without_a_change(signed_in: Browser, workspace_api: Api, pass_time: PassTime) -> None:
    converse(workspace_api, "sales", "Ann", "requested_chat")
    update = update_path(signed_in, signed_in.open("/convos"))
    pass_time(3_600)
    assert signed_in.open(update).status == 204
    pass_time(1)
    assert "Over 1 hour" in signed_in.open(update).text


def test_other_pages_get_the_number_that_waits(signed_in: Browser, workspace_api: Api) -> None:
    (address,) = re.findall(r'data-waiting="([^"]*)"', signed_in.open("/overview").text)
    path = address.removeprefix(signed_in.home)
    converse(workspace_api, "sales", "Ann", "requested_chat")
    answer = signed_in.open(f"{path}?version=0")
    (token,) = set(re.findall(r'name="form" value="(\w{64})"', signed_in.open("/overview").text))
    assert (answer.status, answer.text.strip()) == (200, f'<span data-waiting data-form="{token}">1</span>')
    assert signed_in.open(f"{path}?version=1").status == 204


def test_a_page_begins_with_the_last_number_that_waits(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    def badges(path: str) -> list[str]:
        navigation = signed_in.open(path).text.partition("</nav>")[0]
        return re.findall(r'<span class="count"[^>]*?(?: hidden)?>([^<]*)</span>', navigation)

    assert [badges(path) for path in ("/leads", "/overview", "/leads")] == [[""], ["0"], [""]]
    converse(workspace_api, "sales", "Ann", "requested_chat")
    assert [badges(path) for path in ("/leads", "/overview", "/leads")] == [[""], ["1"], ["", "1"]]
    pass_time(31)
    assert badges("/leads") == [""]


def test_a_search_and_a_later_page_are_not_updated(signed_in: Browser) -> None:
    for query in ("q=hello", f"tab=all&cursor={'0' * 26}"):
        assert "data-inbox" not in signed_in.open(f"/convos?{query}").text
