"""People change and delete messages in the console: administrators any message, other people their own."""

import html
import re
from typing import Any

import pytest

from chalicelib.extensions.console.conversation_pages.conversation_actions import author
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import HOSTILE, PASSWORD

PAGE = "/convos/support/ann"
CHANGED_MEANWHILE = "Someone else has changed this message."


@pytest.fixture
def bo(browser: Browser, workspace_api: Api, workspace: NewWorkspace) -> Browser:
    """Return a person's browser, and store a message of the visitor, of the AI, of the person and of a colleague."""
    for mid, members in {
        "visitor": {"from": "human", "item": {"text": "Help", **signed(workspace, "bo", "visitor")}},
        "ai": {"from": "bot", "item": {"payload": {"message": "Hello"}}},
        "own": {
            "from": "bot",
            "item": {"payload": {"message": "A tpyo"}, "text": "A tpyo", **signed(workspace, "bo", "own")},
        },
        "colleague": {"from": "bot", "item": {"text": HOSTILE, **signed(workspace, "noor", "colleague")}},
    }.items():
        message = {"mid": mid, "type": "text", **members}
        assert workspace_api.post("/agents/support/interact/ann/messages", {"messages": [message]}).status == 200
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    return browser


def signed(workspace: NewWorkspace, client_id: str, mid: str) -> dict[str, str]:
    """Return the members of a reply that the console stores for its author. Bo and Noor have the same name."""
    return {"sender": "Bo de Vries", "author": author(workspace.workspace_id, client_id, mid)}


def administrator(bo: Browser, workspace_api: Api) -> Browser:
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    bo.start_session(email="bo@acme.test", password=PASSWORD)
    return bo


def links(page: Answer) -> list[str]:
    """Return the ids of the messages with a link to their form or page."""
    addresses = re.findall(r'class="edit" href="[^"]*/convos/support/ann([^"]*)"', page.text)
    return [re.split(r"change=|/messages/|#", address)[1] for address in addresses]


def items(api: Api) -> dict[str, Any]:
    """Return the stored items by message id."""
    return {message["mid"]: message["item"] for message in api.get("/v3/agents/support/convos/ann/messages").data}


def test_people_change_only_their_own_messages(bo: Browser, workspace_api: Api) -> None:
    page = bo.open(PAGE)
    assert links(page) == ["own"] == links(bo.open(f"{PAGE}/live"))
    form = bo.open(f"{PAGE}/messages/own")
    assert f'<a class="button second" href="{bo.home}{PAGE}">Cancel</a>' in form.text
    for mid in ("visitor", "ai", "colleague"):
        assert bo.open(f"{PAGE}/messages/{mid}").status == 403
        for path in ("", "/delete"):
            hidden = dict(re.findall(r'name="(form|shown)" value="([^"]*)"', form.text))
            assert bo.post(f"{PAGE}/messages/{mid}{path}", {**hidden, "text": "x"}).status == 403
    assert len(items(workspace_api)) == 4
    assert links(administrator(bo, workspace_api).open(PAGE)) == ["visitor", "ai", "own", "colleague"]


def test_a_change_replaces_the_text_and_nothing_else(bo: Browser, workspace_api: Api) -> None:
    form = bo.open(f"{PAGE}/messages/own")
    page = bo.submit(form, "/own", {"text": f" {HOSTILE} "})
    assert "The message has been changed." in page.text and "<img" not in page.text
    members = {name: text for name, text in items(workspace_api)["own"].items() if name not in ("author", "editedAt")}
    mark = {"editedBy": "Bo de Vries"}
    assert members == {"payload": {"message": HOSTILE}, "text": HOSTILE, "sender": "Bo de Vries", **mark}
    assert "Write a message first." in bo.submit(bo.open(f"{PAGE}/messages/own"), "/own", {"text": " "}).text
    assert items(workspace_api)["own"]["text"] == HOSTILE


def test_a_changed_message_keeps_the_mark_of_the_person_who_changed_it(bo: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/bo", {"name": HOSTILE})
    page = administrator(bo, workspace_api).open(PAGE)
    assert "Edited by" not in page.text
    assert re.findall(r'change=([a-z]+)#change" title="Correct or delete"', page.text) == ["visitor"]
    form = bo.open(f"{PAGE}/messages/visitor")
    assert "<h1>Correct the visitor&#39;s message</h1>" in form.text and "shows who edited it" in form.text
    page = bo.submit(form, "/visitor", {"text": "Help me"})
    assert [text_of(mark) for mark in marks(page)] == [f"Edited by {HOSTILE}"] and "<img" not in page.text
    assert "<h1>Change message</h1>" in bo.open(f"{PAGE}/messages/ai").text
    unknown = {"mid": "other", "from": "bot", "item": {"text": "Hi", "editedBy": ["x"], "editedAt": "yesterday"}}
    workspace_api.post("/agents/support/interact/ann/messages", {"messages": [unknown]})
    assert len(marks(bo.open(PAGE))) == 1


def test_a_visitor_cannot_forge_the_mark_of_a_change(bo: Browser, workspace_api: Api) -> None:
    visitor = Api(workspace_api.post("/agents/support/interact/ann/visitor-tokens", {"token": {}}).data["token"])
    forged = {"item": {"text": "You promised it", "editedBy": "Noor", "editedAt": 1_790_000_000}}
    message = {"mid": "forged", "type": "text", **forged, "channel": "console"}
    assert visitor.post("/agents/support/interact/ann/messages", {"messages": [message]}).status == 200
    page = administrator(bo, workspace_api).open(PAGE)
    assert "You promised it" in page.text and "Edited by" not in page.text
    page = bo.submit(bo.open(f"{PAGE}/messages/forged"), "/forged", {"text": "They promised it"})
    assert marks(page) == ["Edited by Bo de Vries"]
    visitor.post("/agents/support/interact/ann/messages", {"messages": [message]})
    assert marks(bo.open(PAGE)) == ["Edited by Bo de Vries"]


def test_a_change_keeps_the_channel_of_the_message(bo: Browser, workspace_api: Api) -> None:
    message = {"mid": "sent", "from": "human", "item": {"text": "Hi"}, "channel": "whatsapp"}
    workspace_api.post("/agents/support/interact/ann/messages", {"messages": [message]})
    page = bo.submit(administrator(bo, workspace_api).open(f"{PAGE}/messages/sent"), "/sent", {"text": "Hello"})
    stored = workspace_api.get("/v3/agents/support/convos/ann/messages").data
    assert [one["channel"] for one in stored if one["mid"] == "sent"] == ["whatsapp"]
    assert marks(page) == ["Edited by Bo de Vries"]


@pytest.mark.parametrize("text", ["One\r\nTwo", "One\rTwo", " One\nTwo\n"])
def test_saving_an_unchanged_message_is_no_change(text: str, bo: Browser, workspace_api: Api) -> None:
    message = {"mid": "other", "from": "bot", "item": {"text": text}}
    workspace_api.post("/agents/support/interact/ann/messages", {"messages": [message]})
    form = administrator(bo, workspace_api).open(f"{PAGE}/messages/other")
    assert bo.submit(form, "/other", {"text": "\r\n".join(text.splitlines())}).status == 200
    assert items(workspace_api)["other"] == {"text": text}


def marks(page: Answer) -> list[str]:
    return re.findall(r'<p class="edited"><time datetime="[^"]+" title="[^"]+">(.*?)</time></p>', page.text)


def text_of(part: str) -> str:
    return html.unescape(part)


def test_a_message_is_changed_in_its_place(bo: Browser, workspace_api: Api) -> None:
    card = {"mid": "card", "from": "bot", "item": {"payload": {"buttons": [{"name": "Yes"}]}}}
    workspace_api.post("/agents/support/interact/ann/messages", {"messages": [card]})
    page = administrator(bo, workspace_api).open(f"{PAGE}?tab=all")
    assert f'href="{bo.home}{PAGE}?tab=all&amp;change=own#change"' in page.text
    assert f'href="{bo.home}{PAGE}/messages/card"' in page.text and 'class="rewrite"' not in page.text
    page = bo.open(f"{PAGE}?tab=all&change=colleague")
    assert page.text.count('class="rewrite"') == 1 and "data-live" not in page.text and "<img" not in page.text
    assert f">\n{html.escape(HOSTILE, quote=False)}".replace('"', "&#34;") in page.text
    assert f'href="{bo.home}{PAGE}?tab=all">Cancel</a>' in page.text
    old, form = re.findall(
        r'<div class="said"><p>([^\n]*)</p></div>\s*<form class="rewrite"(.*?)</form>', page.text, re.S
    )[0]
    assert html.unescape(re.sub("<.*?>", "", old)) == HOSTILE  # the old text stays in sight
    assert "</div>\n<p" in form and "The message is permanently deleted" in form.partition("</div>\n<p")[2]
    assert "The message has been changed." in bo.submit(page, "/colleague", {"text": "Hello"}).text
    assert items(workspace_api)["colleague"]["text"] == "Hello"
    refused = bo.submit(page, "/colleague", {"text": "Mine"})
    assert (refused.status, CHANGED_MEANWHILE in refused.text) == (412, True)
    for mid in ("card", "unknown", ""):
        page = bo.open(f"{PAGE}?change={mid}")
        assert 'class="rewrite"' not in page.text and "data-live" in page.text


def test_people_get_the_form_of_their_own_messages_only(bo: Browser) -> None:
    pages = {mid: bo.open(f"{PAGE}?change={mid}").text for mid in ("own", "visitor", "ai", "colleague")}
    assert [mid for mid, page in pages.items() if 'class="rewrite"' in page] == ["own"]


def test_the_form_of_an_older_message_keeps_the_page(bo: Browser, workspace_api: Api) -> None:
    for first in (0, 50):
        many = [{"mid": f"m{first + number}", "from": "bot", "item": {"text": "Line"}} for number in range(50)]
        assert workspace_api.post("/agents/support/interact/ann/messages", {"messages": many}).status == 200
    older = administrator(bo, workspace_api).open(f"{PAGE}?before=100").text
    (address,) = re.findall(r'href="[^"]*(/convos/[^"]*change=own[^"]*)#change"', older)
    assert 'class="rewrite"' in bo.open(html.unescape(address)).text


def test_a_change_does_not_overwrite_another(bo: Browser, workspace_api: Api) -> None:
    form = bo.open(f"{PAGE}/messages/own")
    other = {"message": {"item": {**items(workspace_api)["own"], "payload": {}, "text": "Other"}}}
    assert workspace_api.patch("/v3/agents/support/convos/ann/messages/own", other).status == 200
    workspace_api.post(
        "/agents/support/interact/ann/messages", {"messages": [{"from": "human", "item": {"text": "?"}}]}
    )
    page = bo.submit(form, "/own", {"text": "Mine"})
    assert (page.status, CHANGED_MEANWHILE in page.text) == (412, True)
    assert "<p>Other</p>" in page.text and ">\nMine</textarea>" in page.text
    assert items(workspace_api)["own"]["text"] == "Other"
    assert "The message has been changed." in bo.submit(page, "/own", {"text": "Mine"}).text
    assert items(workspace_api)["own"]["text"] == "Mine"


def test_people_change_replies_that_they_sent_under_an_earlier_name(bo: Browser, workspace_api: Api) -> None:
    bo.submit(bo.open(PAGE), "/ann", {"action": "reply", "mid": "reply", "text": "Good morning"})
    assert bo.submit(bo.open("/account"), "/account", {"name": "Our team"}).status == 200
    unsigned = {"mid": "unsigned", "from": "bot", "item": {"text": "Hello", "sender": "Our team"}}
    copied = {"mid": "copied", "from": "bot", "item": items(workspace_api)["reply"]}
    messages = {"messages": [unsigned, copied]}
    assert workspace_api.post("/agents/support/interact/ann/messages", messages).status == 200
    assert links(bo.open(PAGE)) == ["own", "reply"]


def test_texts_keep_the_line_breaks_of_the_api(bo: Browser, workspace_api: Api) -> None:
    bo.submit(bo.open(PAGE), "/ann", {"action": "reply", "mid": "reply", "text": "One\r\nTwo"})
    assert items(workspace_api)["reply"]["text"] == "One\nTwo"
    version = workspace_api.get("/v3/agents/support/convos/ann").headers["etag"]
    for text in ("One\r\nTwo", "One\r\nTwo\r\nThree"):
        assert workspace_api.get("/v3/agents/support/convos/ann").headers["etag"] == version
        bo.submit(bo.open(f"{PAGE}/messages/reply"), "/reply", {"text": text})
    assert items(workspace_api)["reply"]["text"] == "One\nTwo\nThree"


def test_a_deletion_shows_a_question_and_a_confirmation(bo: Browser, workspace_api: Api) -> None:
    form = bo.open(f"{PAGE}/messages/own")
    assert re.search(r'<details[^>]*>\s*<summary>Delete this message</summary>\s*<form[^>]*/own/delete">', form.text)
    for _ in range(2):
        assert "The message has been deleted." in bo.submit(form, "/own/delete", {}).text
    assert items(workspace_api).keys() == {"visitor", "ai", "colleague"}
    assert bo.open(f"{PAGE}/messages/own").status == 404


@pytest.mark.parametrize(
    ("item", "changed"),
    [
        ({"content": [{"type": "text", "text": "Old"}]}, {"content": [{"type": "text", "text": "New"}]}),
        (
            {"message": {"parts": [{"text": "Old"}]}, "id": "Old"},
            {"message": {"parts": [{"text": "New"}]}, "id": "Old"},
        ),
        ({"parts": [{"text": "Old"}, {"text": "Older"}]}, None),
        ({"payload": {"buttons": [{"name": "Yes"}]}}, None),
        ({"text": "Old" * 7_000}, None),
        ({}, None),
    ],
)
def test_a_form_is_shown_for_a_text_that_it_can_replace(
    item: Any, changed: Any, bo: Browser, workspace_api: Api
) -> None:
    message = {"mid": "other", "from": "bot", "item": item}
    workspace_api.post("/agents/support/interact/ann/messages", {"messages": [message]})
    form = administrator(bo, workspace_api).open(f"{PAGE}/messages/other")
    assert ("<textarea" in form.text, "cannot be changed here" in form.text) == (changed is not None, changed is None)
    assert "/other/delete" in form.text
    if changed:
        bo.submit(form, "/other", {"text": "New"})
        mark = {name: items(workspace_api)["other"][name] for name in ("editedBy", "editedAt")}
        assert items(workspace_api)["other"] == {**changed, **mark}


@pytest.mark.parametrize("mid", ["a/b c", ".", ".."])
def test_a_message_whose_id_cannot_be_in_an_address_has_no_link(mid: str, bo: Browser, workspace_api: Api) -> None:
    message = {"mid": mid, "from": "bot", "item": {"text": "Hello"}}
    workspace_api.post("/agents/support/interact/ann/messages", {"messages": [message]})
    assert links(administrator(bo, workspace_api).open(PAGE)) == ["visitor", "ai", "own", "colleague"]


def test_a_page_shows_the_messages_around_a_message(bo: Browser, workspace_api: Api) -> None:
    page = administrator(bo, workspace_api).open(f"{PAGE}/messages/own")
    assert texts_of(page) == ["Hello", "A tpyo", html.escape(HOSTILE, quote=False).replace('"', "&#34;")]
    marked = re.findall(r'<article class="turn chosen.*?</article>', page.text, re.DOTALL)
    assert len(marked) == 1 and "A tpyo" in marked[0]
    assert 'class="edit"' not in page.text and "Other systems" in page.text
    many = [{"mid": f"m{number}", "from": "bot", "item": {"text": f"Line {number}."}} for number in range(9)]
    assert workspace_api.post("/agents/support/interact/ann/messages", {"messages": many}).status == 200
    assert texts_of(bo.open(f"{PAGE}/messages/visitor")) == ["Help", "Hello"]
    assert texts_of(bo.open(f"{PAGE}/messages/m4")) == [f"Line {number}." for number in (3, 4, 5)]
    assert bo.open(f"{PAGE}/messages/unknown").status == 404


def texts_of(page: Answer) -> list[str]:
    return re.findall(r'<div class="said"><p>(.*?)</p>', page.text)
