"""The marked matches and the snippets in a list of search results."""

import pytest

from chalicelib.extensions.console.search_matches import marked, snippet

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
    assert shown.startswith("… ") and 20 < shown.index("there a lift?") < 41
    assert shown.endswith(" …") and len(shown) < 310
    assert snippet(text, "missing") == snippet(text, "") == f"{LONG[:300].strip()} …"
    assert snippet("Is there a lift?", "lift") == "Is there a lift?"
    assert snippet("x" * 500 + "lift", "lift") == "…" + "x" * 36 + "lift"
