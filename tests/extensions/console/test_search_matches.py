"""The marked matches and the snippets in a list of search results."""

import pytest

from chalicelib.extensions.console.presentation.template_filters import linked
from chalicelib.extensions.console.search_pages.search_matches import marked, matches, snippet
from tests.api import Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.test_event_lines import CONVO

LONG = "The rooms are on the first floor, above the bar. " * 20


@pytest.mark.parametrize(
    ("text", "query", "html"),
    [
        ("Two rooms, a Room", "room", "Two <mark>room</mark>s, a <mark>Room</mark>"),
        ("<b>&lt; a'b", "<b>", "<mark>&lt;b&gt;</mark>&amp;lt; a&#39;b"),
        ("x(y)*", "(Y)*", "x<mark>(y)*</mark>"),
        ("first\n floor", " first floor ", "<mark>first\n floor</mark>"),
        ("<i>none</i>", "", "&lt;i&gt;none&lt;/i&gt;"),
        ("<i>none</i>", "other", "&lt;i&gt;none&lt;/i&gt;"),
    ],
)
def test_matches_are_marked_and_all_other_characters_are_escaped(text: str, query: str, html: str) -> None:
    assert marked(text, query) == html


def test_a_snippet_begins_shortly_before_the_match() -> None:
    text = f"{LONG}Is there a\n lift? {LONG}"
    shown = snippet(text, "A LIFT")
    assert shown.startswith("… ") and 3 < shown.index("there a lift?") < 23
    assert shown.endswith(" …") and len(shown) < 310
    assert snippet(text, "missing") == snippet(text, "") == f"{LONG[:300].strip()} …"
    assert snippet("Is there a lift?", "lift") == "Is there a lift?"
    assert snippet("x" * 500 + "lift", "lift") == "…" + "x" * 20 + "lift"


def test_links_are_kept_whole_and_other_matches_marked() -> None:
    html = linked("room <b> https://a.test/room room", "room")
    assert html.startswith("<mark>room</mark> &lt;b&gt; <a href=") and html.endswith("</a> <mark>room</mark>")
    assert html.count("<mark>") == 2
    assert linked("a https://b.test/ " * 40 + "a" * 100, "a").count("<mark>") == 50


def test_an_empty_query_matches_nothing() -> None:
    assert matches("Two  Rooms", "two rooms") and not matches("Two", " ") and not matches("Two", "Three")


def test_a_conversation_of_a_search_marks_the_newest_match(signed_in: Browser, workspace_api: Api) -> None:
    texts = ("Room 1", "room 2 <b>", "Other")
    turns = [{"from": "human", "messages": [{"item": {"text": text}} for text in texts]}]
    assert workspace_api.post("/agents/support/interact/ann/state", {"turns": turns}).status == 200
    page = signed_in.open(f"{CONVO}?tab=all&q=room").text
    assert "<p><mark>Room</mark> 1</p>" in page
    assert page.count('id="match"') == 1 and "<mark>room</mark> 2 &lt;b&gt;</p>" in page.partition('id="match"')[2]
    assert f"{CONVO}?tab=all&amp;q=room#match" in page
    assert "<mark>" not in signed_in.open(CONVO).text and "#match" not in signed_in.open("/convos").text
