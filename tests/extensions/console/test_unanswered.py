"""Unanswered conversations: a visitor who writes to a person again comes up in the lists, and is marked and counted."""

import re

from tests.api import Api
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser
from tests.extensions.console.test_inbox import converse, headings, names_in, tab_counts
from tests.extensions.console.test_inbox import signed_in as signed_in

REPLY = {"messages": [{"from": "bot", "item": {"text": "Hello", "sender": "Bo de Vries"}}]}


def test_a_row_of_the_own_list_says_whose_turn_it_is(signed_in: Browser, workspace_api: Api) -> None:
    converse(workspace_api, "sales", "Ann", "human-chatting", "bo")
    assert ">Unanswered</em>" in signed_in.open("/convos?tab=mine").text
    signed_in.submit(signed_in.open("/convos/sales/Ann"), "/convos/sales/Ann", {"action": "reply", "text": "Hello"})
    assert ">Visitor’s turn</em>" in signed_in.open("/convos?tab=mine").text


def test_a_row_is_unanswered_until_a_person_writes_or_the_conversation_ends(
    signed_in: Browser, workspace_api: Api
) -> None:
    def unanswered() -> list[str]:
        page = signed_in.open("/convos?tab=all").text
        rows = re.findall(r'<a [^>]*class="unanswered".*?</a>', page, re.DOTALL)
        marks = [re.search(">Bea<", row) and '<em class="state human-chatting due">Unanswered</em>' for row in rows]
        assert all(
            (mark or '<span class="unseen">Unanswered</span>') in row for mark, row in zip(marks, rows, strict=True)
        )
        assert page.count("Unanswered") == len(rows)
        return re.findall(r"<strong>([^<]*)</strong>", "".join(rows))

    for name, state in (("Ann", "requested_chat"), ("Bea", "human-chatting"), ("Cor", "ai-chatting")):
        converse(workspace_api, "sales", name, state)
    assert unanswered() == ["Bea", "Ann"]
    # The match of a search may not be the newest message.
    workspace_api.post(
        "/v3/agents/sales/convos/Ann/messages", {"messages": [{"from": "bot", "item": {"text": "Wait"}}]}
    )
    found = signed_in.open("/convos?tab=all&q=from+Ann")
    assert (names_in(found), "Unanswered" in found.text) == (["Ann"], False)
    workspace_api.post(
        "/v3/agents/sales/convos/Ann/messages", {"messages": [{"from": "human", "item": {"text": "Hi"}}]}
    )
    page = signed_in.open("/convos?tab=all&q=wait")
    assert (names_in(page), page.text.count("Unanswered")) == (["Ann"], 1)
    workspace_api.post("/v3/agents/sales/convos/Bea/messages", REPLY)
    assert unanswered() == ["Ann"]
    workspace_api.patch("/v3/agents/sales/convos/Ann", {"conversation": {"state": "ended_chat"}})
    assert unanswered() == []


def test_the_tab_mine_begins_with_what_waits_for_an_answer(signed_in: Browser, workspace_api: Api) -> None:
    for name, state in (("Ann", "human-chatting"), ("Bea", "human-chatting"), ("Cor", "requested_chat")):
        converse(workspace_api, "sales", name, state, "bo")
    workspace_api.post("/v3/agents/sales/convos/Ann/messages", REPLY)
    page = signed_in.open("/convos?tab=mine")
    assert names_in(page) == ["Cor", "Bea", "Ann"] and headings(page) == ["Waiting for your answer", "Answered"]
    assert page.text.index(">Bea<") < page.text.index(">Answered<") < page.text.index(">Ann<")
    assert headings(signed_in.open("/convos")) == []


def test_a_visitor_who_writes_again_comes_up(signed_in: Browser, workspace_api: Api, pass_time: PassTime) -> None:
    workspace_api.post("/v2/clients/sam", {"orgId": "acme", "name": "Sam", "email": "sam@acme.test"})
    for name, assignee in (("Ann", "bo"), ("Bea", None), ("Cor", "sam"), ("Dov", "bo")):
        converse(workspace_api, "sales", name, "human-chatting", assignee)
        pass_time(60)
        workspace_api.post(f"/v3/agents/sales/convos/{name}/messages", REPLY)
    page = signed_in.open("/convos?tab=mine")
    assert names_in(page) == ["Dov", "Ann"] and tab_counts(page)[0] == "0"  # the newest answer first
    pass_time(4_000)
    for name in ("Ann", "Bea", "Cor"):
        converse(workspace_api, "sales", name, None)
    page = signed_in.open("/convos")
    assert names_in(page) == ["Ann", "Bea"] and tab_counts(page)[:2] == ["2", "2"]
    assert page.text.count(">Unanswered</em>") == 2 and "<title>(2) " in page.text
    assert names_in(signed_in.open("/convos?tab=mine")) == ["Ann", "Dov"]
    started = re.findall(
        'class="active">started <time datetime="[^"]*" data-as="time"', signed_in.open("/convos?tab=all").text
    )
    assert len(started) == 3


def test_an_unanswered_conversation_shows_its_last_message_and_no_wait(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    for name, state in (("Ann", "requested_chat"), ("Bea", "human-chatting"), ("Cor", "human-chatting")):
        converse(workspace_api, "sales", name, state)
        pass_time(60)
    pass_time(3 * 3_600)
    workspace_api.patch("/v3/agents/sales/convos/Bea", {"conversation": {"tags": ["vip"]}})  # keeps her place
    converse(workspace_api, "sales", "Ann", None)
    pass_time(2 * 3_600)
    rows = [
        {
            name: re.findall("<time [^>]*>[^<]*</time>|Unanswered", row)
            for name, row in re.findall(r"<strong>(\w+)</strong>(.*?)</a>", signed_in.open(path).text, re.DOTALL)
        }
        for path in ("/convos?tab=waiting", "/convos?tab=all")
    ]
    assert [*rows[0]] == ["Ann", "Bea", "Cor"]
    times = [{name: shown[:2] for name, shown in one.items()} for one in rows]
    assert times[0] == times[1] and "waits 5 hr" in rows[0]["Ann"][0]
    assert all('data-as="ago"' in shown[0] and shown[1] == "Unanswered" for shown in (rows[0]["Bea"], rows[0]["Cor"]))


def test_a_person_takes_an_unanswered_conversation_without_an_assignee(signed_in: Browser, workspace_api: Api) -> None:
    for name, to in (("Ann", None), ("Bea", None)):
        converse(workspace_api, "sales", name, "human-chatting", to)
    page = signed_in.open("/convos")
    form = {"action": "assign", "to": "bo", "free": "on"}
    assert names_in(signed_in.submit(page, "/convos", form | {"pick.sales/Ann": "on"})) == ["Ann", "Bea"]
    assert page.text.count('aria-label="Assign to me: ') == 2
    assert names_in(signed_in.open("/convos?tab=mine")) == ["Ann"]
    workspace_api.post("/v3/agents/sales/convos/Bea/messages", REPLY)
    assert signed_in.submit(page, "/convos", form | {"pick.sales/Bea": "on"}).status == 409
