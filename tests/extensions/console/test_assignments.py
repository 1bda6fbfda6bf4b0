"""The menu that assigns a conversation to a person, and the buttons that undo an assignment and an end."""

import re
from typing import Any

import pytest

from tests.api import Answer, Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.test_inbox import converse, names_in
from tests.extensions.console.test_inbox import signed_in as signed_in

ANN = "/convos/support/Ann"


@pytest.fixture(autouse=True)
def sam(workspace_api: Api) -> None:
    """Create a colleague without a password, and a waiting conversation."""
    workspace_api.post("/v2/clients/sam", {"orgId": "acme", "name": "Sam <b>", "email": "sam@acme.test"})
    converse(workspace_api, "support", "Ann", "requested_chat")


def submit(browser: Browser, **fields: str) -> Answer:
    return browser.submit(browser.open(ANN), ANN, fields)


def voice(api: Api) -> tuple[str, str | None]:
    record: dict[str, Any] = api.get("/v3/agents/support/convos/Ann").data
    return record["state"], record.get("chatAssignedTo")


def undo_in(page: Answer) -> str:
    (value,) = re.findall(r'name="undo" value="([^"]*)"', page.text)
    return str(value)


@pytest.mark.parametrize("to", ["sam", "bo"])
def test_a_waiting_conversation_that_is_assigned_waits_for_its_assignee(
    signed_in: Browser, workspace_api: Api, to: str
) -> None:
    for _ in range(2):  # the second submission answers the same
        page = submit(signed_in, to=to)
        assert "The conversation is assigned to" in page.text
        assert voice(workspace_api) == ("requested_chat", to)
    assert names_in(signed_in.open("/convos")) == ["Ann"]
    mine = signed_in.open("/convos?tab=mine")
    assert names_in(mine) == (["Ann"] if to == "bo" else [])
    assert ("Waiting for your answer" in mine.text) == (to == "bo")
    submit(signed_in, action="take")
    assert voice(workspace_api) == ("human-chatting", "bo")


def test_no_person_leaves_a_waiting_conversation_waiting_and_passes_another_to_the_ai(
    signed_in: Browser, workspace_api: Api
) -> None:
    submit(signed_in, to="sam")
    submit(signed_in, to="")
    assert voice(workspace_api) == ("requested_chat", None)
    submit(signed_in, action="take")
    submit(signed_in, to="")
    assert voice(workspace_api) == ("ai-chatting", None)


@pytest.mark.parametrize(
    ("fields", "name", "before"),
    [
        ({"to": "sam"}, "Undo", ("requested_chat", None)),
        ({"action": "end"}, "Reopen", ("requested_chat", None)),
        ({"action": "end"}, "Reopen", ("human-chatting", "bo")),
        ({"to": "sam"}, "Undo", ("human-chatting", "bo")),
        ({"to": ""}, "Undo", ("human-chatting", "bo")),
    ],
)
def test_an_assignment_and_an_end_are_undone(
    fields: dict[str, str], name: str, before: tuple[str, str | None], signed_in: Browser, workspace_api: Api
) -> None:
    if before[1]:
        submit(signed_in, action="take")
    page = submit(signed_in, **fields)
    assert voice(workspace_api) != before
    ((value, shown),) = re.findall(r'name="undo" value="([^"]*)">([^<]*)<', page.text)
    assert shown == name
    for _ in range(2):
        undone = signed_in.submit(page, ANN, {"undo": value, "text": ""})
        assert (undone.status, voice(workspace_api)) == (200, before)
        assert "The change has been undone." in undone.text and 'name="undo"' not in undone.text


@pytest.mark.parametrize("to", ["eve", "unknown", "?"])
def test_only_the_state_and_the_assignee_before_the_change_are_restored(
    to: str, signed_in: Browser, workspace_api: Api
) -> None:
    workspace_api.post("/v2/clients/eve", {"orgId": "rival", "email": "eve@rival.test"})
    value = undo_in(submit(signed_in, to="sam"))
    for forged in ("", "/", f"{value}{to}", f"human-chatting/{to}", f"0/{value.partition('/')[2]}{to}"):
        assert submit(signed_in, undo=forged).status in (400, 412), forged
    assert voice(workspace_api) == ("requested_chat", "sam")


@pytest.mark.parametrize("later", [{"state": "ended_chat"}, {"state": "human-chatting", "chatAssignedTo": "sam"}])
def test_an_undo_keeps_what_another_person_has_done_since(
    later: dict[str, str], signed_in: Browser, workspace_api: Api
) -> None:
    page = submit(signed_in, to="sam")
    workspace_api.patch("/v3/agents/support/convos/Ann", {"conversation": later})
    for _ in range(2):
        undone = signed_in.submit(page, ANN, {"undo": undo_in(page), "text": "Good morning"})
        assert undone.status == 412 and "Nothing has been undone.</p>" in undone.text
        assert "Good morning</textarea>" in undone.text and "The change has been undone." not in undone.text
        assert voice(workspace_api) == (later["state"], "sam")


def test_the_menu_begins_with_oneself_and_marks_the_assignee_and_who_cannot_sign_in(signed_in: Browser) -> None:
    def menu() -> list[str]:
        text = submit(signed_in, to="sam").text.partition('<details class="people">')[2].partition("</ul>")[0]
        return [re.sub("<[^>]*>", " ", one).strip() for one in re.findall("<li>(.*?)</li>", text)]

    people = menu()
    assert [re.sub(" +", " ", one) for one in people] == [
        "– No person yet",
        "BV Bo de Vries you",
        "S Sam &lt;b&gt; Cannot sign in",
    ]
    page = signed_in.open(ANN).text
    assert re.findall('name="to" value="([^"]*)"', page) == ["", "bo"]
    assert page.count('<p aria-current="true">') == 1 and "<select" not in page.partition('id="about"')[2]
    assert "(Cannot sign in)</option>" in signed_in.open("/convos").text


def test_waiting_conversations_that_are_assigned_together_stay_waiting(signed_in: Browser, workspace_api: Api) -> None:
    def change(to: str) -> tuple[str, str | None]:
        page = signed_in.open("/convos")
        signed_in.submit(page, "/convos", {"action": "assign", "to": to, "pick.support/Ann": "on"})
        return voice(workspace_api)

    assert change("sam") == change("sam") == ("requested_chat", "sam")
    assert change("") == ("ai-chatting", None)
