"""What an open conversation shows of the visitor's messages and details: texts, links, images, names and tags."""

import html
import re

import pytest

from tests.api import Api
from tests.builders import state_body
from tests.extensions.console.browser import Browser

CONVO = "/convos/support/ann"


@pytest.fixture(autouse=True)
def conversation(workspace_api: Api) -> None:
    """Create a conversation."""
    assert workspace_api.post("/agents/support/interact/ann/state", state_body("Hello")).status == 200


def test_a_transcript_has_days_times_groups_and_links(signed_in: Browser, workspace_api: Api) -> None:
    noon = 1_795_435_200  # 2026-11-23
    text = 'see https://a.test/x?y=1&z="2". Or (http://b.test/) <b>javascript:x</b>'
    messages = [
        {"from": "human", "ts": noon - 86_400, "item": {"text": text}},
        {"from": "human", "ts": (noon + 60) * 1000, "item": {"text": "milliseconds"}},
        {"from": "human", "ts": noon + 120, "item": {"text": "in the group"}},
        {"from": "human", "ts": noon + 900, "item": {"text": "later"}},
        {
            "from": "bot",
            "ts": noon + 901,
            "item": {"payload": {"message": "Which?", "buttons": [{"name": "This one"}]}},
        },
    ]
    body = {"turns": [{"messages": [one]} for one in messages], "metadata": {"labels": {"page": "https://c.test"}}}
    assert workspace_api.post("/agents/support/interact/ann/state", body).status == 200
    variables = {"country": "NL", "seats": 2, "list": [1], "none": None}
    workspace_api.patch("/v3/agents/support/convos/ann", {"conversation": {"capturedVariables": variables}})
    page = signed_in.open(CONVO).text
    links = re.findall(r'<a href="(http[^"]*)" rel="noreferrer noopener" target="_blank">', page)
    assert links == ["https://a.test/x?y=1&amp;z=", "http://b.test/", "https://c.test"]
    assert re.findall(r'data-as="day">([^<]*)', page) == ["22 Nov", "23 Nov"]
    assert re.findall(r'datetime="([^"]*)" data-as="time">([^<]*)', page)[1:3] == [
        ("2026-11-23T12:01:00Z", "12:01 UTC"),
        ("2026-11-23T12:02:00Z", "12:02 UTC"),
    ]
    assert ["same" in one for one in re.findall('<article class="([^"]*)', page)] == [False, False, True, False, False]
    assert "<li>This one</li>" in page
    for fact in ("<dt>Country</dt><dd>Netherlands</dd>", "<dt>seats</dt><dd>2</dd>", "<dt>Page</dt><dd><a href="):
        assert fact in page
    assert "<dt>list</dt>" not in page and "<dt>none</dt>" not in page


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("https://x.test/rooms/a%20%3Cb%3E.jpg?width=9#top", "a &lt;b&gt;.jpg"),
        ("https://x.test/rooms/", "rooms"),
        ("http://x.test", "x.test"),
        ("https://", "Image"),
    ],
)
def test_an_image_is_a_link_with_its_name(image: str, name: str, signed_in: Browser, workspace_api: Api) -> None:
    message = {"from": "bot", "item": {"text": "See", "image": image}}
    assert workspace_api.post("/v3/agents/support/convos/ann/messages", {"messages": [message]}).status == 200
    assert f'<span class="unseen">Image: </span><span>{name}</span></a>' in signed_in.open(CONVO).text


def test_tags_are_chips_with_an_editor(signed_in: Browser, workspace_api: Api) -> None:
    assert re.search(r"<details><summary>Tags <span>Add</span>", signed_in.open(CONVO).text)
    change = {"conversation": {"tags": ["<b>dog"], "notes": "Call back"}}
    assert workspace_api.patch("/v3/agents/support/convos/ann", change).status == 200
    page = signed_in.open(CONVO).text
    assert '?tab=all&amp;tag=%3Cb%3Edog">&lt;b&gt;dog</a><button form="reply" name="untag"' in page
    assert '<details class="notes" open>' in page


@pytest.mark.parametrize("blank", ["", " \n", "\u200b\u202e"], ids=["empty", "spaces", "invisible"])
def test_who_has_a_name_that_shows_nothing_is_called_otherwise(
    blank: str, signed_in: Browser, workspace_api: Api
) -> None:
    named = {"metadata": {"userName": blank, "userEmail": "ann@example.com"}}
    workspace_api.post("/agents/support/interact/ann/state", named)
    workspace_api.post("/v2/agents/support", {"title": blank})
    workspace_api.post("/v3/leads", {"lead": {"agentId": "support", "name": blank, "email": "lea@example.com"}})
    assert "<strong>ann@example.com</strong>" in signed_in.open("/convos?tab=all").text
    assert "<h1>ann@example.com</h1>" in signed_in.open(CONVO).text
    assert '/agents/support">support</a>' in signed_in.open("/agents").text
    assert "<span>No name</span></a>" in signed_in.open("/leads").text


@pytest.mark.parametrize(
    ("page", "label"),
    [
        ("https://x.test/rooms?id=1&b", "/rooms?id=1&amp;b"),
        ("https://x.test/", "x.test"),
        ("http://x.test", "x.test"),
        ("see https://x.test/a", None),
        ('https://x.test/"<b>', None),
    ],
)
def test_a_variable_that_is_an_address_shows_its_path(
    page: str, label: str | None, signed_in: Browser, workspace_api: Api
) -> None:
    workspace_api.patch("/v3/agents/support/convos/ann", {"conversation": {"labels": {"page": page}}})
    text = signed_in.open(CONVO).text
    address = html.escape(page)
    assert "<b>" not in text
    paths = re.findall(r'<span class="path" title="([^"]*)">([^<]*)</span></a>', text)
    assert paths == ([(address, label)] if label else [])
