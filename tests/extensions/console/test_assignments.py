"""The menu that assigns a conversation to a person, and the buttons that undo an assignment and an end."""

import re
from typing import Any

import pytest

from chalicelib.extensions.console.access import colleagues
from tests.api import Answer, Api
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser, live_path
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
    ("fields", "before"),
    [
        ({"to": "sam"}, ("requested_chat", None)),
        ({"action": "end"}, ("requested_chat", None)),
        ({"action": "end"}, ("human-chatting", "bo")),
        ({"to": "sam"}, ("human-chatting", "bo")),
        ({"to": ""}, ("human-chatting", "bo")),
    ],
)
def test_an_assignment_and_an_end_are_undone(
    fields: dict[str, str], before: tuple[str, str | None], signed_in: Browser, workspace_api: Api
) -> None:
    if before[1]:
        submit(signed_in, action="take")
    page = submit(signed_in, **fields)
    assert voice(workspace_api) != before
    ((value, shown),) = re.findall(r'name="undo" value="([^"]*)">([^<]*)<', page.text)
    assert shown == "Undo"
    for _ in range(2):
        undone = signed_in.submit(page, ANN, {"undo": value, "text": ""})
        assert (undone.status, voice(workspace_api)) == (200, before)
        is_wait_lost = (fields, before[0]) == ({"action": "end"}, "requested_chat")
        assert ("The change has been undone." in undone.text) != is_wait_lost and 'name="undo"' not in undone.text


def test_the_main_button_of_an_ended_conversation_reopens_it(signed_in: Browser, workspace_api: Api) -> None:
    assert "Reopen</button>" not in signed_in.open(ANN).text
    page = submit(signed_in, action="end").text
    button = '<button form="reply" name="action" value="take" title="[^"]*">Reopen</button>'
    assert len(re.findall(button, page)) == 1 and "Take over</button>" not in page
    submit(signed_in, action="take")
    assert voice(workspace_api) == ("human-chatting", "bo")


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


def test_the_menu_begins_with_oneself_and_marks_the_assignee(signed_in: Browser) -> None:
    def menu() -> list[str]:
        text = submit(signed_in, to="sam").text.partition('<details class="people">')[2].partition("</ul>")[0]
        return [re.sub("<[^>]*>", " ", one).strip() for one in re.findall("<li>(.*?)</li>", text)]

    people = menu()
    assert [re.sub(" +", " ", one) for one in people] == [
        "– No person yet",
        "BV Bo de Vries you",
        "S Sam &lt;b&gt;",
    ]
    page = signed_in.open(ANN).text
    assert re.findall('name="to" value="([^"]*)"', page) == ["", "bo"]
    assert page.count('<p aria-current="true">') == 1 and "<select" not in page.partition('id="about"')[2]
    assert "Cannot sign in" not in page + signed_in.open("/convos").text  # lists of people contain no passwords


def test_waiting_conversations_that_are_assigned_together_stay_waiting(signed_in: Browser, workspace_api: Api) -> None:
    def change(to: str) -> tuple[str, str | None]:
        page = signed_in.open("/convos")
        signed_in.submit(page, "/convos", {"action": "assign", "to": to, "pick.support/Ann": "on"})
        return voice(workspace_api)

    assert change("sam") == change("sam") == ("requested_chat", "sam")
    assert change("") == ("ai-chatting", None)


def test_the_button_undoes_only_the_own_change_that_the_page_confirms(signed_in: Browser, workspace_api: Api) -> None:
    submit(signed_in, to="sam")
    assert undo_in(signed_in.open(f"{ANN}?done=assign")).endswith("/requested_chat/")
    assert 'name="undo"' not in signed_in.open(f"{ANN}?done=end").text
    workspace_api.patch("/v3/agents/support/convos/Ann", {"conversation": {"state": "ended_chat"}})
    for done in ("assign", "end"):
        assert 'name="undo"' not in signed_in.open(f"{ANN}?done={done}").text


@pytest.mark.parametrize("now", [("human-chatting", "sam"), ("requested_chat", "sam"), ("ended_chat", None)])
def test_the_button_in_a_row_assigns_only_what_still_waits_without_an_assignee(
    now: tuple[str, str | None], signed_in: Browser, workspace_api: Api
) -> None:
    page = signed_in.open("/convos")
    state = {"state": now[0], "chatAssignedTo": now[1]}
    workspace_api.patch("/v3/agents/support/convos/Ann", {"conversation": state})
    (form,) = re.findall('<form id="own" .*?</form>', page.text)
    fields = dict(re.findall('name="([^"]*)" value="([^"]*)"', form))
    answer = signed_in.post("/convos", {**fields, "pick.support/Ann": "on"})
    assert answer.status == 409 and "It has not been assigned to you." in answer.text
    assert voice(workspace_api) == now


def test_a_reply_is_kept_if_the_former_assignee_has_been_removed(signed_in: Browser, workspace_api: Api) -> None:
    submit(signed_in, to="sam")
    page = submit(signed_in, action="end")
    workspace_api.delete("/v2/clients/sam")
    for fields in ({"undo": undo_in(page)}, {"to": "sam"}):
        answer = signed_in.submit(page, ANN, {**fields, "text": "Good morning"})
        assert answer.status == 404 and "Good morning</textarea>" in answer.text
        assert re.search('<p class="error"[^>]*>There is no such client', answer.text)
    assert voice(workspace_api)[0] == "ended_chat"


def test_a_reopened_conversation_says_that_its_wait_is_lost(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    pass_time(60)
    converse(workspace_api, "support", "Bea", "requested_chat")
    page = submit(signed_in, action="end")
    pass_time(60)
    answer = signed_in.submit(page, ANN, {"undo": undo_in(page)})
    assert "the wait could not be restored" in answer.text and "has been undone" not in answer.text
    assert names_in(signed_in.open("/convos")) == ["Bea", "Ann"]


def test_the_menu_has_a_maximum_also_in_updates_and_a_form_assigns_to_others(
    signed_in: Browser, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(colleagues, "MAX_IN_MENU", 2)
    for name in ("Abe", "Ada"):
        workspace_api.post(f"/v2/clients/{name}", {"orgId": "acme", "name": name, "email": f"{name}@acme.test"})
    page = signed_in.open(ANN)
    assert "only the first 2 people" in page.text
    workspace_api.post("/v3/agents/support/convos/Ann/assign", {"assignToUserId": "sam"})
    news = signed_in.open(ANN + live_path(page.text)).text
    for text, others in ((page.text, []), (news, [""])):  # the conversation has no assignee at first
        assert re.findall('name="to" value="([^"]*)"', text) == [*others, "bo", "Abe", "Ada"]
    assert '<p class="assigned">Sam &lt;b&gt;</p>' in news
    answer = signed_in.submit(page, ANN, {"action": "assign", "email": "sam@acme.test"})
    assert "The conversation is assigned to Sam &lt;b&gt;." in answer.text
