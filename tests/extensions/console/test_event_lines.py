"""The lines in a transcript for transfers and private notes."""

import re

from chalicelib import clock
from chalicelib.conversations.rows import ConversationRow
from chalicelib.extensions.console.conversation_pages import event_lines, private_notes
from chalicelib.extensions.console.conversation_pages.bubbles import Bubble
from tests.api import Api
from tests.builders import state_body
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser, live_path

CONVO = "/convos/support/ann"
_LINES = re.compile(
    r'<p class="event"[^>]*>([^<]*) <time|<bdi>([^<]*)</bdi> <time[^>]*>[^<]*</time></p><p>([^<]*)'
    r'|class="said"><p>([^<]*)'
)


def lines(text: str) -> list[str]:
    """Return the event lines, the notes with their authors, and the messages, in order."""
    return [event or message or f"{author}: {note}" for event, author, note, message in _LINES.findall(text)]


def converse(api: Api, state: str) -> None:
    """Create a conversation in this state, with a message."""
    body = state_body("Hi") | {"metadata": {"state": state}}
    assert api.post("/agents/support/interact/ann/state", body).status == 200


def test_a_takeover_precedes_the_reply_that_caused_it() -> None:
    """A reply gets its time before it is saved, so a second may begin between the reply and its takeover."""
    visitor = Bubble("", "", None, True, "", "", "", None, "text", 10, "", "Hi", "", "", [], "", False)
    reply, takeover = visitor._replace(is_human=False, person="Bo"), event_lines.EventLine("", 11_050, "", "", True)
    for messages, index in (
        ([visitor, reply], 1),
        ([visitor, reply._replace(time=11)], 1),
        ([reply, visitor], 2),
        ([visitor, reply._replace(time=8)], 2),
        ([visitor, reply._replace(person="")], 2),
    ):
        lines_by_index = event_lines.by_position([takeover], messages, is_first=True, is_last=True)
        assert lines_by_index == {index: [takeover]}


def test_a_reloaded_transcript_shows_the_request_the_takeover_and_the_end(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    def add(text: str) -> None:
        messages = [{"from": "human", "item": {"text": text}}]
        assert workspace_api.post("/agents/support/interact/ann/messages", {"messages": messages}).status == 200

    def read(query: str = "") -> list[str]:
        return lines(signed_in.open(f"{CONVO}{query}").text)[1:]

    converse(workspace_api, "requested_chat")
    assert read() == ["Waiting for a person"]
    pass_time(600)
    add("Hello?")
    signed_in.submit(signed_in.open(CONVO), CONVO, {"action": "end"})
    pass_time(600)
    add("Thanks")
    assert read() == ["Waiting for a person", "Hello?", "Ended by Bo de Vries", "Thanks"]
    assert read("?before=1") == ["Waiting for a person", "Hello?"]
    pass_time(600)
    signed_in.submit(signed_in.open(CONVO), CONVO, {"action": "reply", "text": "Goodbye"})
    start = ["Waiting for a person", "Hello?", "Ended by Bo de Vries", "Thanks"]
    assert read() == [*start, "Bo de Vries took over", "Goodbye"]
    pass_time(60)
    workspace_api.patch("/v3/agents/support/convos/ann", {"conversation": {"state": "ai-chatting"}})
    assert read() == [*start, "Bo de Vries took over", "Goodbye", "Passed to the AI"]


def test_a_transcript_names_who_assigned_and_who_was_assigned(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    sam = {"name": "Sam <b>", "orgId": "acme", "email": "sam@acme.test"}
    assert workspace_api.post("/v2/clients/sam", sam).status == 200
    converse(workspace_api, "ai-chatting")
    pass_time(60)

    def submit(**fields: str) -> str:
        return lines(signed_in.submit(signed_in.open(CONVO), CONVO, fields).text)[-1]

    assert submit(action="assign", to="sam") == "Assigned to Sam &lt;b&gt; by Bo de Vries"
    assert submit(action="take") == "Bo de Vries took over"
    assert submit(action="back") == "Passed to the AI by Bo de Vries"
    assert submit(action="end") == "Ended by Bo de Vries"
    pass_time(121)
    assert submit(action="back") == "Reopened by Bo de Vries"
    workspace_api.post("/v3/agents/support/convos/ann/assign", {"assignToUserId": "sam"})
    assert lines(signed_in.open(CONVO).text)[-1] == "Sam &lt;b&gt; took over"


def test_an_answer_for_a_colleague_is_a_takeover_and_an_undone_end_a_reopening(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    workspace_api.post("/v2/clients/sam", {"name": "Sam", "orgId": "acme", "email": "sam@acme.test"})
    converse(workspace_api, "requested_chat")
    undo = ""
    for fields, line in (
        ({"to": "sam"}, "Assigned to Sam by Bo de Vries"),
        ({"action": "end"}, "Ended by Bo de Vries"),
        ({"undo": ""}, "Reopened by Bo de Vries"),
        ({"action": "reply", "text": "Hello"}, "Bo de Vries took over"),
        ({"action": "end"}, "Ended by Bo de Vries"),
        ({"undo": ""}, "Reopened by Bo de Vries"),
    ):
        pass_time(121)
        values = {name: value or undo for name, value in fields.items()}
        page = signed_in.submit(signed_in.open(CONVO), CONVO, values)
        undo = re.findall('name="undo" value="([^"]*)"|$', page.text)[0]
        assert [one for one in lines(page.text) if one != "Hello"][-1] == line


def test_a_change_that_is_undone_at_once_leaves_no_line(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    workspace_api.post("/v2/clients/sam", {"name": "Sam", "orgId": "acme", "email": "sam@acme.test"})
    converse(workspace_api, "requested_chat")
    pass_time(60)
    before = lines(signed_in.submit(signed_in.open(CONVO), CONVO, {"action": "take"}).text)
    assert before[-1] == "Bo de Vries took over"
    for fields in ({"action": "assign", "to": "sam"}, {"action": "end"}):
        changed = signed_in.submit(signed_in.open(CONVO), CONVO, fields).text
        assert len(lines(changed)) == len(before) + 1
        (undo,) = re.findall('name="undo" value="([^"]*)"', changed)
        pass_time(60)
        assert lines(signed_in.submit(signed_in.open(CONVO), CONVO, {"undo": undo}).text) == before
    signed_in.submit(signed_in.open(CONVO), CONVO, {"action": "end"})
    workspace_api.patch("/v3/agents/support/convos/ann", {"conversation": {"state": "human-chatting"}})
    assert lines(signed_in.open(CONVO).text)[-2:] == ["Ended by Bo de Vries", "Bo de Vries took over"]


def test_a_row_of_an_earlier_version_shows_its_request_and_its_end(signed_in: Browser, workspace_api: Api) -> None:
    converse(workspace_api, "requested_chat")
    workspace_api.patch("/v3/agents/support/convos/ann", {"conversation": {"state": "ended_chat"}})
    (row,) = ConversationRow.scan(ConversationRow.requested_at.exists())
    row.update([ConversationRow.transfers.remove()])
    assert lines(signed_in.open(CONVO).text) == ["Hi", "Waiting for a person", "Ended"]


def test_a_note_is_between_the_messages_with_its_author(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    converse(workspace_api, "ai-chatting")
    pass_time(60)
    page = signed_in.open(CONVO)
    forged = "Ann, 2026-01-01 10:00:00 UTC:\r\n<b>"
    for _ in range(2):  # the second submission adds nothing
        answer = signed_in.submit(page, CONVO, {"action": "add_note", "note": f" {forged} "})
    assert "The note has been added." in answer.text
    moment = clock.iso(clock.seconds()).replace("T", " ").replace("Z", " UTC:")
    notes = f"Bo de Vries, {moment}\n Ann, 2026-01-01 10:00:00 UTC:\n<b>"
    assert workspace_api.get("/v3/agents/support/convos/ann").data["notes"] == notes
    assert lines(answer.text) == ["Hi", "Bo de Vries: Ann, 2026-01-01 10:00:00 UTC:\n&lt;b&gt;"]
    refused = signed_in.submit(page, CONVO, {"action": "add_note", "note": "x" * 5_000})
    assert (refused.status, "at most 5000 characters" in refused.text, "x" * 5_000 in refused.text) == (400, True, True)
    assert signed_in.submit(page, CONVO, {"action": "add_note", "note": " "}).status == 400


def test_news_contain_new_events_only(signed_in: Browser, workspace_api: Api, pass_time: PassTime) -> None:
    converse(workspace_api, "requested_chat")
    page = signed_in.open(CONVO)
    path = CONVO + live_path(page.text)
    pass_time(60)
    signed_in.submit(page, CONVO, {"action": "take"})
    signed_in.submit(page, CONVO, {"action": "add_note", "note": "Call her"})
    news = signed_in.open(path).text
    assert lines(news) == ["Bo de Vries took over", "Bo de Vries: Call her"]
    workspace_api.patch("/v3/agents/support/convos/ann", {"conversation": {"tags": ["refund"]}})
    assert "took over" not in signed_in.open(CONVO + live_path(news)).text
    assert lines(signed_in.open(re.sub("since=[0-9]*", "since=x", path)).text) == []


def test_notes_without_a_heading_are_no_entries() -> None:
    assert private_notes.split("Call back\nAnn, 2026-13-01 10:00:00 UTC:\nx") == (
        "Call back\nAnn, 2026-13-01 10:00:00 UTC:\nx", []
    )  # fmt: skip
    notes = private_notes.add("Call back", "Ann\n", "Done", 0)
    assert notes == "Call back\n\nAnn, 1970-01-01 00:00:00 UTC:\nDone"
    assert private_notes.split(notes) == ("Call back", [private_notes.Note("Ann", 0, "Done")])


def test_the_facts_contain_who_ended_the_conversation_and_when(
    signed_in: Browser, workspace_api: Api, pass_time: PassTime
) -> None:
    def facts(page: str) -> str:
        return re.sub("<[^>]*>", "|", "".join(re.findall('data-part="duration">(.*?)</div>', page)))

    converse(workspace_api, "requested_chat")
    path = CONVO + live_path(signed_in.open(CONVO).text)
    pass_time(60)
    assert "Ended" not in facts(signed_in.open(CONVO).text)
    signed_in.submit(signed_in.open(CONVO), CONVO, {"action": "end"})
    for page in (signed_in.open(CONVO), signed_in.open(path)):
        assert "Ended" in facts(page.text) and facts(page.text).endswith(" by Bo de Vries|")
    path = CONVO + live_path(signed_in.open(CONVO).text)
    assert 'data-part="duration"' not in signed_in.open(path).text  # an update without transfers reads no names
    pass_time(60)
    for state in ("ai-chatting", "ended_chat"):
        workspace_api.patch("/v3/agents/support/convos/ann", {"conversation": {"state": state}})
    page = signed_in.open(CONVO).text
    assert lines(page)[-1] == "Ended by the API" and facts(page).endswith(" by the API|")
    (row,) = ConversationRow.scan(ConversationRow.ended_after.exists())
    row.update([ConversationRow.transfers.remove()])
    assert "Ended" in facts(signed_in.open(CONVO).text) and " by " not in facts(signed_in.open(CONVO).text)
