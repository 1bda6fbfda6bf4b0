"""The search of the tab All: names, ids and messages of several agents, in steps until a page is full."""

import pytest

from chalicelib import storage
from chalicelib.extensions.console.inbox_pages import all_conversations, conversation_list
from tests import extensions
from tests.api import Api
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser
from tests.extensions.console.test_conversation_list import AGENTS, fill, names_on_all, pages
from tests.extensions.console.test_conversation_list import signed_in as signed_in
from tests.extensions.console.test_inbox import converse, names_in


@pytest.fixture
def few_per_step(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let a step of a search examine two conversations."""
    monkeypatch.setattr(all_conversations, "MAX_SEARCHED", 2)
    monkeypatch.setattr(all_conversations, "MAX_EXAMINED", 2)


def test_a_search_finds_names_ids_and_messages_of_all_agents(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    extensions.require("transcripts")
    from chalicelib.extensions.transcripts import search

    for place, name in enumerate(("Ann", "Bea", "Cor", "Dov")):
        pass_time(60)
        converse(workspace_api, AGENTS[place % 3], name, "ended_chat")
        answer = {"messages": [{"from": "bot", "item": {"text": f"See you soon, {name[0]}."}}]}
        path = f"/agents/{AGENTS[place % 3]}/interact/{name}/messages"
        assert workspace_api.post(path, answer).status == 200
    page = signed_in.open("/convos?q=hello from b")  # the newest message is another
    assert names_in(page) == ["Bea"] and 'class="preview"><mark>Hello from B</mark>ea' in page.text
    assert "All conversations were searched." in page.text and "all messages" in page.text
    assert "data-inbox" not in page.text
    assert pages(signed_in, "/convos?tab=all&q=hello&state=human-chatting") == [[]]
    assert pages(signed_in, "/convos?q=hello") == pages(signed_in, "/convos?q=soon") == [["Dov", "Cor", "Bea", "Ann"]]
    monkeypatch.setattr(conversation_list, "MAX_STEPS", 1)
    monkeypatch.setattr(search, "MAX_EXAMINED", 1)  # the search of the agent with two conversations ends early
    assert pages(signed_in, "/convos?q=hello from") == [["Dov"], ["Cor", "Bea", "Ann"]]
    assert "found so far. Searched back to <time" in signed_in.open("/convos?q=hello from").text
    monkeypatch.setattr(all_conversations, "MAX_SEARCHED", 3)
    assert names_on_all(signed_in, "/convos?q=hello from") == ["Dov", "Cor", "Bea", "Ann"]


def test_a_result_shows_the_part_of_the_message_that_matches(signed_in: Browser, workspace_api: Api) -> None:
    extensions.require("transcripts")
    converse(workspace_api, AGENTS[0], "Ann-Lift", "ended_chat")
    text = "The rooms are above the bar. " * 30 + "Is there a <LIFT>?"
    for item in ({"text": text}, {"text": "Yes."}):
        message = {"messages": [{"from": "human", "item": item}]}
        workspace_api.post(f"/v3/agents/{AGENTS[0]}/convos/Ann-Lift/messages", message)
    page = signed_in.open("/convos?tab=all&q=%3Clift")
    assert 'class="preview">… bar. Is there a <mark>&lt;LIFT</mark>&gt;?</span>' in page.text
    assert "1 found." in page.text
    page = signed_in.open("/convos?tab=all&q=lift")
    assert "<strong>Ann-<mark>Lift</mark></strong>" in page.text
    assert "<strong>Ann-<mark>Lift</mark></strong>" in signed_in.open(f"/convos/{AGENTS[0]}/Ann-Lift?q=lift").text


@pytest.mark.usefixtures("few_per_step")
def test_a_page_of_a_search_contains_the_results_of_five_steps(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = fill(workspace_api, pass_time, 12)  # V11 to V00
    assert pages(signed_in, "/convos?tab=all&q=V") == [names[:10], names[10:]]
    assert pages(signed_in, "/convos?tab=all&q=01") == [[], ["V01"]]
    assert pages(signed_in, "/convos?tab=all&q=V01") == [["V01"], [], []]  # the id comes first
    monkeypatch.setattr(all_conversations, "MAX_ROWS", 3)
    assert pages(signed_in, "/convos?tab=all&q=V") == [names[start : start + 3] for start in range(0, 12, 3)]


@pytest.mark.usefixtures("few_per_step")
def test_the_list_beside_a_result_ends_with_the_step_that_found_it(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    names = fill(workspace_api, pass_time, 12)
    path = f"/convos/{AGENTS[8]}/{names[3]}?tab=all&q=V"
    assert names_in(signed_in.open(path)) == names[:4]


@pytest.mark.usefixtures("few_per_step")
def test_a_search_ends_early_if_its_reads_are_slow(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = fill(workspace_api, pass_time, 6)
    monkeypatch.setattr(storage, "seconds_left", lambda: 13)
    assert pages(signed_in, "/convos?tab=all&q=V") == [names[:2], names[2:4], names[4:]]
