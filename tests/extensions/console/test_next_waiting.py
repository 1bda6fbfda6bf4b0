"""The next conversation that waits: the link, the button above the list, and their live updates."""

import re

import pytest

from tests.api import Api
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser
from tests.extensions.console.test_inbox import converse, names_in
from tests.extensions.console.test_inbox import signed_in as signed_in
from tests.extensions.console.test_inbox_updates import update_path

NAMES = ("Ann", "Bea", "Cor", "Dov")


@pytest.fixture(autouse=True)
def queue(workspace_api: Api, pass_time: PassTime) -> None:
    """Let four conversations wait. The longest wait is a colleague's, and the third the person's own."""
    workspace_api.post("/v2/clients/sam", {"orgId": "acme", "name": "Sam", "email": "sam@acme.test"})
    for name, assignee in zip(NAMES, ("sam", None, "bo", None), strict=True):
        converse(workspace_api, "support", name, "requested_chat", assignee)
        pass_time(60)


def following(text: str) -> list[str]:
    """Return the name in the address of the link, or the text if no other conversation waits."""
    return re.findall(r'class="next[^"]*" href="[^"]*/convos/support/(\w+)|<span class="next">([^<]*)<', text)


def test_the_next_wait_is_the_longest_that_no_colleague_has_and_then_the_one_after_it(signed_in: Browser) -> None:
    opened = {name: following(signed_in.open(f"/convos/support/{name}").text) for name in NAMES}
    expected = {"Ann": "Bea", "Bea": "Cor", "Cor": "Dov", "Dov": "Bea"}
    assert opened == {name: [(after, "")] for name, after in expected.items()}
    for path in ("/convos", "/convos?tab=mine", "/convos?tab=all", "/convos?tab=all&q=nothing"):
        assert following(signed_in.open(path).text) == [("Bea", "")], path
    answer = re.findall(
        'href="[^"]*/convos/support/([A-Za-z]+)"[^>]*>(?:(?!</a>).)*Answer next in line', signed_in.open("/jump").text
    )
    assert answer == ["Bea"]


def test_the_longest_wait_follows_an_answer_in_the_middle_of_the_queue(signed_in: Browser) -> None:
    page = signed_in.open("/convos/support/Cor")
    answered = signed_in.submit(page, "/convos/support/Cor", {"action": "reply", "text": "Good morning"})
    assert following(answered.text) == [("Bea", "")]


def test_the_page_says_that_no_one_else_waits(signed_in: Browser, workspace_api: Api) -> None:
    for name in ("Bea", "Cor"):
        workspace_api.patch(f"/v3/agents/support/convos/{name}", {"conversation": {"state": "ended_chat"}})
    for name, shown in (("Dov", ("", "No one else is waiting")), ("Bea", ("Dov", ""))):
        assert following(signed_in.open(f"/convos/support/{name}").text) == [shown]


def test_the_link_and_the_row_of_an_answered_conversation_follow(signed_in: Browser, workspace_api: Api) -> None:
    page = signed_in.open("/convos/support/Dov")
    update = update_path(signed_in, page)
    assert signed_in.open(update).status == 204
    signed_in.submit(page, "/convos/support/Dov", {"action": "reply", "text": "Good morning"})
    news = signed_in.open(update)
    assert following(news.text) == [("Bea", "")]
    assert names_in(news) == ["Dov", "Ann", "Bea", "Cor"]  # the open conversation stays in sight
    assert (
        "</em> Good morning" in news.text.partition("Ann")[0]
        and "Assigned to Bo de Vries" in news.text.partition("Ann")[0]
    )
    workspace_api.delete("/v3/agents/support/convos/Dov")
    converse(workspace_api, "support", "Eve", "requested_chat")
    assert names_in(signed_in.open(update)) == ["Ann", "Bea", "Cor", "Eve"]
    for beside, status in (("other/Dov", 404), ("support/", 400), (f"support/{'x' * 3_000}", 400)):
        assert signed_in.open(re.sub("beside=[^&]*", f"beside={beside}", update)).status == status
