"""Placeholders in saved replies: the menu beside a conversation shows their values."""

import timeit

import pytest

from chalicelib.extensions.console.conversation_pages import reply_placeholders
from tests.api import Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.test_event_lines import CONVO, converse
from tests.extensions.console.test_saved_replies import PAGE, saved_replies, store

VALUES = {"visitor": "Ann {me}", "agent": "Support", "me": "Bo"}


@pytest.mark.parametrize(
    ("text", "filled", "without_name"),
    [
        ("Hello {visitor}, thanks!", "Hello Ann {me}, thanks!", "Hello, thanks!"),
        ("{visitor}, thanks!", "Ann {me}, thanks!", "Thanks!"),
        ("Hi\n{visitor}: yes", "Hi\nAnn {me}: yes", "Hi\nYes"),
        ("{me} of {agent}", "Bo of Support", "Bo of Support"),
        ("{name} {Visitor} {} {me", "{name} {Visitor} {} {me", "{name} {Visitor} {} {me"),
    ],
)
def test_a_value_replaces_its_placeholder_or_the_text_reads_without_it(
    text: str, filled: str, without_name: str
) -> None:
    assert reply_placeholders.fill(text, VALUES) == filled
    assert reply_placeholders.fill(text, {**VALUES, "visitor": ""}) == without_name


def test_a_long_text_takes_linear_time() -> None:
    """Otherwise, one reply with a run of spaces would block every conversation of its agent."""

    def seconds(spaces: int) -> float:
        text = f"a{' ' * spaces}b"
        return min(timeit.repeat(lambda: reply_placeholders.fill(text, {**VALUES, "visitor": ""}), number=1))

    assert seconds(20_000) < 8 * seconds(5_000)  # quadratic time: 16


def test_the_menu_of_a_conversation_shows_the_values(signed_in: Browser, workspace_api: Api) -> None:
    converse(workspace_api, "requested_chat")
    store(workspace_api, ["Hello {visitor}, this is {me}. {name}"])
    ((value, shown),) = saved_replies(signed_in.open(CONVO).text)
    assert value == shown == "Hello, this is Bo de Vries. {name}"
    assert workspace_api.post("/agents/support/interact/ann/state", {"metadata": {"userName": "<Ann>"}}).status == 200
    ((value, _),) = saved_replies(signed_in.open(CONVO).text)
    assert value == "Hello &lt;Ann&gt;, this is Bo de Vries. {name}"


def test_values_cannot_make_a_page_too_large(signed_in: Browser, workspace_api: Api) -> None:
    converse(workspace_api, "requested_chat")
    workspace_api.post("/agents/support/interact/ann/state", {"metadata": {"userName": "'" * 200}})
    text = "{visitor}" * 1_000
    store(workspace_api, [text])
    assert saved_replies(signed_in.open(CONVO).text)[0][0] == text


def test_the_page_explains_placeholders_and_names_unknown_words(signed_in: Browser, workspace_api: Api) -> None:
    store(workspace_api, ["Hello {name}, {me}"])
    page = signed_in.open(PAGE).text
    assert "visitors would see it as written: {name}<" in page
    assert all(f"<code>{{{name}}}</code>" in page for name in reply_placeholders.NAMES)
    store(workspace_api, ["Hello {visitor}, {me}"])
    assert "as written" not in signed_in.open(PAGE).text
