"""Conversations in the console: the list, the transcript, and a person's actions."""

import re
from typing import Any

import pytest

from chalicelib import clock
from chalicelib.extensions.console.access import colleagues, sessions
from chalicelib.extensions.console.conversation_pages import bubbles
from chalicelib.extensions.console.inbox_pages import inbox
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.builders import PART_ITEMS, state_body
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser, csrf_field
from tests.extensions.console.conftest import PASSWORD
from tests.extensions.console.test_inbox import names_in, tab_counts

CONVO = "/convos/support/ann"


@pytest.fixture
def signed_in(browser: Browser, workspace_api: Api) -> Browser:
    """Return the client's browser, and create a conversation."""
    turns: list[Any] = [{"from": "human", "messages": [{"mid": "1", "item": {"text": "Can <b>somebody</b> look?"}}]}]
    body = {"turns": turns, "metadata": {"userName": "Ann Jansen", "state": "requested_chat"}}
    assert workspace_api.post("/agents/support/interact/ann/state", body).status == 200
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    return browser


def reply(browser: Browser, page: Answer, text: str) -> Answer:
    return browser.submit(page, CONVO, {"action": "reply", "text": text})


def test_the_inbox_the_list_and_the_transcript_show_a_conversation(signed_in: Browser) -> None:
    for path in ("/overview", "/convos", "/convos?inbox=true", "/convos?q=jansen", CONVO):
        page = signed_in.open(path)
        assert page.status == 200
        assert "Ann Jansen" in page.text
    assert "Can &lt;b&gt;somebody&lt;/b&gt; look?" in page.text
    assert "No conversations match" in signed_in.open("/convos?q=nobody").text


MEMBERS = (
    *("payload", "description", "title", "image", "imageUrl", "url", "buttons", "choices"),
    *("text", "message", "label", "sender", "content", "parts"),
)
VALUES: tuple[Any, ...] = (
    *(None, True, 5, 10**400, "", "a text", [], [1], ["a text"], [None], {}, {"a": 1}),
    *({"content": 5}, {"content": [5]}, {"parts": [{"text": 5}]}, [{"text": None}]),
    *({"text": 5}, {"text": None}, {"text": ["a text"]}, [{"name": 5}], [{"name": {"a": 1}}], [{"label": []}]),
)


@pytest.mark.parametrize("member", MEMBERS)
def test_no_item_of_a_message_makes_a_transcript_unreadable(
    signed_in: Browser, workspace_api: Api, member: str
) -> None:
    items = [item for value in VALUES for item in ({member: value}, {"payload": {member: value}})]
    messages = [{"from": "human", "mid": f"m{number}", "item": item} for number, item in enumerate(items)]
    path = "/agents/support/interact/ann/messages"
    assert workspace_api.post(path, {"messages": messages}).status == 200
    for page in (CONVO, f"{CONVO}/live"):
        assert signed_in.open(page).status == 200, page
    for message in messages:
        whole = signed_in.open(f"{CONVO}/text?message={bubbles.digest(message)}")
        assert whole.status == 200, message["item"]


@pytest.mark.parametrize("item", PART_ITEMS.values(), ids=PART_ITEMS)
def test_a_transcript_shows_the_texts_of_parts(signed_in: Browser, workspace_api: Api, item: dict[str, Any]) -> None:
    body = {"messages": [{"from": "human", "mid": "parts", "item": item}]}
    assert workspace_api.post("/agents/support/interact/ann/messages", body).status == 200
    page = signed_in.open(CONVO).text
    assert "Hello\nAnn" in page
    assert "reasoning" not in page and "tool_use" not in page


def test_the_inbox_looks_past_what_waits_at_agents_of_others(
    signed_in: Browser, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = state_body("Hello?") | {"metadata": {"state": "requested_chat"}}
    for number in range(30):
        assert workspace_api.post(f"/agents/other/interact/{number}/state", body).status == 200
    assert "Ann Jansen" in signed_in.open("/convos?inbox=true").text
    for number in range(30, 110):
        assert workspace_api.post(f"/agents/other/interact/{number}/state", body).status == 200
    answer = signed_in.open("/convos?inbox=true")
    assert "Ann Jansen" in answer.text and tab_counts(answer) == ["1", "0", "1"]
    monkeypatch.setattr(inbox, "_MAX_REQUESTS", 1)
    assert tab_counts(signed_in.open("/convos")) == ["1+", "0+", "1"]


def test_waiting_lists_only_what_waits_and_the_overview_the_longest_waits(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    for number in range(12):
        pass_time(60)
        state = ("requested_chat", "ai-chatting")[number % 2]
        body = state_body("Hello?") | {"metadata": {"userName": f"Visitor {number}.", "state": state}}
        assert workspace_api.post(f"/agents/support/interact/{number}/state", body).status == 200
    for path in ("/convos", "/convos?inbox=true", "/convos?tab=waiting", "/convos?tab=unknown"):
        assert names_in(signed_in.open(path)) == [
            "Ann Jansen", "Visitor 0.", "Visitor 2.", "Visitor 4.", "Visitor 6.", "Visitor 8.", "Visitor 10.",
        ]  # fmt: skip
    page = signed_in.open("/overview").text
    assert '<span class="count">7</span>' in page and "Show all 7</a>" in page
    waits = page.partition('class="queue"')[2].partition("</ul>")[0]
    assert re.findall(r"<strong>([^<]*)</strong>", waits) == [
        "Ann Jansen", "Visitor 0.", "Visitor 2.", "Visitor 4.", "Visitor 6.",
    ]  # fmt: skip


def test_a_reply_is_added_once_however_often_its_form_is_sent(signed_in: Browser, workspace_api: Api) -> None:
    page = signed_in.open(CONVO)
    for _ in range(2):
        assert "I am looking" in reply(signed_in, page, "I am looking at it").text
    listed = workspace_api.get("/v3/agents/support/convos/ann/messages").data
    assert [one["item"].get("text") for one in listed] == ["I am looking at it", "Can <b>somebody</b> look?"]


def test_a_reply_takes_the_conversation_over(signed_in: Browser, workspace: NewWorkspace, workspace_api: Api) -> None:
    def voice() -> tuple[str, str | None]:
        record = workspace_api.get("/v3/agents/support/convos/ann").data
        return record["state"], record.get("chatAssignedTo")

    operator = Browser(workspace.workspace_id)
    operator.start_session(key=workspace.workspace_key)
    assert "takes over and assigns the chat to you" in signed_in.open(CONVO).text
    assert "takes over: the AI stops" in operator.open(CONVO).text
    reply(operator, operator.open(CONVO), "One moment")
    assert voice() == ("human-chatting", None)
    reply(signed_in, signed_in.open(CONVO), "I am looking at it")
    assert voice() == ("human-chatting", "bo")


@pytest.mark.parametrize(
    ("person", "organisation", "name"),
    [("Bo", "Acme", "Bo"), (None, "Acme", "Acme"), (" ", "Acme", "Acme"), (None, "\u200b", "Our team")],
)
def test_a_visitor_is_shown_the_name_of_who_replies_and_never_the_email(
    signed_in: Browser, workspace_api: Api, person: str | None, organisation: str, name: str
) -> None:
    workspace_api.post("/v2/clients/bo", {"name": person})
    workspace_api.post("/v2/orgs/acme", {"name": organisation})
    sessions.clear_cache()
    assert reply(signed_in, signed_in.open(CONVO), "I am looking at it").status == 200
    token = workspace_api.post("/agents/support/interact/ann/visitor-tokens", {"token": {}}).data["token"]
    shown = Api(token).post("/agents/support/interact/ann/state", {})
    assert shown.json["turns"][-1]["messages"]["item"]["sender"] == name
    assert "acme.test" not in shown.text


def test_a_person_assigns_tags_passes_back_and_ends(signed_in: Browser, workspace_api: Api) -> None:
    def submit(**fields: str) -> Any:
        signed_in.submit(signed_in.open(CONVO), CONVO, fields)
        return workspace_api.get("/v3/agents/support/convos/ann").data

    found = submit(to="bo")  # the button of a person
    assert (found["chatAssignedTo"], found["state"]) == ("bo", "requested_chat")
    assert submit(action="tag", tags="refund, urgent,")["tags"] == ["refund", "urgent"]
    assert submit(action="back")["state"] == "ai-chatting"
    assert submit(action="end")["state"] == "ended_chat"


def test_a_person_takes_over_with_a_button(signed_in: Browser, workspace: NewWorkspace, workspace_api: Api) -> None:
    def take(browser: Browser) -> tuple[str, str, str | None]:
        page = browser.submit(browser.open(CONVO), CONVO, {"action": "take"})
        record = workspace_api.get("/v3/agents/support/convos/ann").data
        return page.text, record["state"], record.get("chatAssignedTo")

    operator = Browser(workspace.workspace_id)
    operator.start_session(key=workspace.workspace_key)
    page, *voice = take(operator)
    assert voice == ["human-chatting", None] and "You have taken over." in page
    page, *voice = take(signed_in)
    assert voice == ["human-chatting", "bo"] and "Assign to me" not in page and "Take over" not in page
    assert "Assign to me" in operator.open(CONVO).text or "Take over" not in operator.open(CONVO).text


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"action": "back"}, "The conversation is back with the AI."),
        ({"action": "end"}, "The conversation has ended."),
        ({"untag": "refund"}, "The tags have been saved."),
        ({"action": "note", "notes": "Call back"}, "The notes have been saved."),
        ({"action": "assign", "to": "bo"}, "The conversation is assigned to Bo de Vries."),
        ({"action": "assign", "to": ""}, "The assignment has been saved."),
    ],
)
def test_a_page_confirms_an_action_and_keeps_the_draft(signed_in: Browser, fields: dict[str, str], words: str) -> None:
    page = signed_in.submit(signed_in.open(CONVO), CONVO, fields)
    assert words in page.text and "</textarea>" in page.text
    page = signed_in.submit(signed_in.open(CONVO), CONVO, {**fields, "text": "half a <b>reply"})
    assert words in page.text and "half a &lt;b&gt;reply</textarea>" in page.text
    assert 'role="status">' not in signed_in.open(f"{CONVO}?done=unknown").text.partition("notice")[0]


def test_a_reply_and_a_note_keep_each_other(signed_in: Browser) -> None:
    texts = {"text": "half a reply", "note": "half a note"}
    fields = {name: f'id="{name}" name="{name}"[^>]*>\n([^<]*)<' for name in texts}
    for action, kept in (("reply", "note"), ("add_note", "text"), ("take", "text")):
        page = signed_in.submit(signed_in.open(CONVO), CONVO, {**texts, "action": action})
        shown = {name: re.findall(pattern, page.text)[0] for name, pattern in fields.items()}
        assert shown == ({**texts} if action == "take" else {"text": "", "note": "", kept: texts[kept]}), action
    assert page.text.count("half a reply</p>") == page.text.count("half a note</p>") == 1


@pytest.mark.parametrize("fields", [{"action": "back"}, {"action": "end"}, {"action": "assign", "to": "bo"}])
def test_a_finished_conversation_offers_the_next(
    signed_in: Browser, workspace_api: Api, fields: dict[str, str]
) -> None:
    body = state_body("Hello?") | {"metadata": {"userName": "Eve Kok", "state": "requested_chat"}}
    assert workspace_api.post("/agents/support/interact/eve/state", body).status == 200
    page = signed_in.submit(signed_in.open(CONVO), CONVO, fields)
    done = page.text.partition('<div class="done">')[2].partition("</div>")[0]
    assert "/convos/support/eve" in done and "Next waiting: Eve Kok" in done
    assert page.text.count("Next waiting: Eve Kok") == 1 and "No one else" not in page.text
    assert signed_in.open(CONVO).text.count("Next waiting: Eve Kok") == 1


def test_another_agents_conversation_is_not_found(signed_in: Browser, workspace_api: Api) -> None:
    body = {"turns": [{"from": "human", "messages": [{"item": {"text": "secret"}}]}]}
    workspace_api.post("/agents/other/interact/unlisted/state", {**body, "metadata": {"state": "requested_chat"}})
    assert signed_in.open("/convos/other/unlisted").status == 404
    assert signed_in.open("/convos/other/unlisted/live?after=x").status == 404
    for path in ("/overview", "/convos", "/convos?inbox=true", "/convos?agent=other"):
        assert "unlisted" not in signed_in.open(path).text
    page = signed_in.open(CONVO)
    fields = {**csrf_field(page), "action": "end"}
    assert signed_in.post("/convos/other/unlisted", fields).status == 404
    assert workspace_api.get("/v3/agents/other/convos/unlisted").data["state"] == "requested_chat"


def test_a_forged_form_changes_nothing(signed_in: Browser, workspace_api: Api) -> None:
    page = signed_in.open(CONVO)
    for fields, headers in (
        ({"action": "end"}, {}),
        ({"action": "end", "form": "0" * 64}, {}),
        ({"action": "end", "form": "\N{SNOWMAN}"}, {}),
        ({**csrf_field(page), "action": "end"}, {"Sec-Fetch-Site": "cross-site"}),
    ):
        assert signed_in.post(CONVO, fields, **headers).status == 403
    assert workspace_api.get("/v3/agents/support/convos/ann").data["state"] == "requested_chat"


def test_a_conversation_is_assigned_to_nobody_of_another_organisation(signed_in: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/eve", {"orgId": "rival", "email": "eve@rival.test"})
    for other in ("eve", "unknown"):
        assert signed_in.submit(signed_in.open(CONVO), CONVO, {"action": "assign", "to": other}).status == 404
    assert workspace_api.get("/v3/agents/support/convos/ann").data.get("chatAssignedTo") is None


def test_private_notes_are_in_the_transcript_and_the_details_link_to_the_newest(signed_in: Browser) -> None:
    for text in ("First", "Second", "<b>Third</b>"):
        signed_in.submit(signed_in.open(CONVO), CONVO, {"action": "add_note", "note": text})
    page = signed_in.open(CONVO).text
    marks = re.findall('<div class="event note" id="(note-[0-9a-f]{16})"', page)
    assert len(marks) == page.count("</bdi> <time") - page.count('<article class="turn') == 3
    for path in (CONVO, f"{CONVO}/live"):
        assert re.findall('<p class="remarks"><a href="#(.*?)">', signed_in.open(path).text) == marks[-1:]
    assert page.count("&lt;b&gt;Third") == 2  # in the transcript, and in the field for all notes


def test_private_notes_of_another_person_are_not_replaced_unseen(signed_in: Browser, workspace_api: Api) -> None:
    def read_notes() -> Any:
        return workspace_api.get("/v3/agents/support/convos/ann").data.get("notes")

    def change(notes: str | None) -> None:
        assert workspace_api.patch("/v3/agents/support/convos/ann", {"conversation": {"notes": notes}}).status == 200

    page, mine = signed_in.open(CONVO), {"action": "note", "notes": " Mine </textarea>\r\nand more "}
    assert workspace_api.post("/agents/support/interact/ann/state", state_body("Hello?")).status == 200
    for _ in range(2):
        assert signed_in.submit(page, CONVO, mine).status == 200
    assert read_notes() == "Mine </textarea>\nand more"
    assert "Mine &lt;/textarea&gt;\nand more</textarea>" in signed_in.open(CONVO).text
    change("<b>Theirs</b>")
    refused = signed_in.submit(page, CONVO, {"action": "note", "notes": "Newer </textarea>"})
    assert (refused.status, "changed the notes to: &lt;b&gt;Theirs&lt;/b&gt;" in refused.text) == (412, True)
    assert "\nNewer &lt;/textarea&gt;</textarea>" in refused.text
    assert read_notes() == "<b>Theirs</b>"
    assert signed_in.submit(refused, CONVO, {"action": "note", "notes": ""}).status == 200
    assert read_notes() is None
    refused = signed_in.submit(page, CONVO, {"action": "note", "notes": "x" * 5_001})
    assert (refused.status, "at most 5000 characters" in refused.text, read_notes()) == (400, True, None)
    change("long" * 1_251)
    page = signed_in.open(CONVO)
    assert "longlong" in page.text and "too long for this page" in page.text and 'name="notes"' not in page.text


def test_a_conversation_is_assigned_to_everybody_of_a_large_organisation(
    signed_in: Browser, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(120):
        person = {"orgId": "acme", "name": f"Person {number}.", "email": f"p{number}@acme.test"}
        workspace_api.post(f"/v2/clients/p{number:03}", person)
    workspace_api.post("/v2/clients/eve", {"orgId": "rival", "email": "eve@rival.test"})
    page = signed_in.open(CONVO)
    assert page.text.count('name="to"') == 121 and 'name="email"' not in page.text
    signed_in.submit(page, CONVO, {"to": "p119"})
    monkeypatch.setattr(colleagues, "_MAX_REQUESTS", 1)
    page = signed_in.open(CONVO)
    assert "only the first 100 people" in page.text and '<p class="assigned">p119</p>' in page.text
    signed_in.submit(page, CONVO, {"action": "assign", "to": "", "email": "P118@acme.test"})
    for other in ("eve@rival.test", "nobody@acme.test", "?"):
        refused = signed_in.submit(page, CONVO, {"action": "assign", "email": other})
        assert (refused.status, "No one in your organisation" in refused.text) == (400, True)
    found = workspace_api.get("/v3/agents/support/convos/ann").data
    assert found["chatAssignedTo"] == "p118"


def test_an_organisation_that_disallows_tags_has_none_changed(signed_in: Browser, workspace_api: Api) -> None:
    page = signed_in.open(CONVO)
    workspace_api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": ["support"], "disallowAnyTags": True})
    sessions.clear_cache()
    for fields in ({"action": "tag", "tags": "refund"}, {"untag": "refund"}, {"retag": "refund"}):
        assert signed_in.submit(page, CONVO, fields).status == 403
    assert not workspace_api.get("/v3/agents/support/convos/ann").data.get("tags")
    assert 'name="tags"' not in signed_in.open(CONVO).text


def test_a_refused_reply_is_shown_with_the_error_at_its_field(signed_in: Browser) -> None:
    page = reply(signed_in, signed_in.open(CONVO), "  ")
    assert (page.status, "Ann Jansen" in page.text) == (400, True)
    assert 'id="wrong-text" role="alert">Write a message first.<' in page.text


def test_pages_stay_small_whatever_a_visitor_sends(signed_in: Browser, workspace_api: Api) -> None:
    deep: Any = [1] * 20_000
    for _ in range(50):
        deep = [deep]
    messages = [{"item": {"text": f"{number} {'x' * 60_000}"}} for number in range(4)]
    sent = [*messages, {"type": "custom", "item": {"deep": deep}}, *[{"item": {"text": "short"}}] * 100]
    metadata = {"userName": "Ann" * 20_000, "state": "requested_chat"}
    body = {"turns": [{"from": "human", "messages": sent}], "metadata": metadata}
    assert workspace_api.post("/agents/support/interact/ann/state", body).status == 200
    for path in ("/overview", "/convos", "/convos?inbox=true"):
        assert len(signed_in.open(path).text) < 100_000
    seen, path = 0, CONVO
    while path:
        page = signed_in.open(path)
        assert (page.status, len(page.text) < 400_000) == (200, True)
        seen += page.text.count("<article")
        earlier = page.text.partition('<a href="?before=')[2].partition('"')[0]
        path = earlier and f"{CONVO}?before={earlier}"
    assert seen == len(sent)


def test_an_open_conversation_shows_its_wait_and_the_next_that_waits(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    def read(convo_id: str) -> tuple[list[str], list[tuple[str, str]], bool]:
        page = signed_in.open(f"/convos/support/{convo_id}").text
        following = re.findall(r'<a class="next" href="[^"]*/convos/support/([^"]*)">Next waiting: ([^ ]*) ', page)
        waits = re.findall(r'class="waited"><time datetime="([^"]*)"', page)
        return waits, following, '<p class="assigned">No person yet</p>' in page

    assert read("ann")[1:] == ([], True)
    since = []
    for convo_id, name in (("bea", "<b>Bea"), ("cor", "Cor")):
        pass_time(60)
        since.append(clock.iso(clock.seconds()))
        body = {"metadata": {"userName": name, "state": "requested_chat"}}
        assert workspace_api.post(f"/agents/support/interact/{convo_id}/state", body).status == 200
    workspace_api.patch("/v3/agents/support/convos/ann", {"conversation": {"state": "ai-chatting"}})
    assert read("ann") == ([], [("bea", "&lt;b&gt;Bea")], False)
    assert read("bea") == (since[:1], [("cor", "Cor")], True)
    assert read("cor") == (since[1:], [("bea", "&lt;b&gt;Bea")], True)
