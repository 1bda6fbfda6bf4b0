"""People download a conversation in the console, and administrators delete it."""

import json

import pytest

from chalicelib.extensions import has
from tests.api import Api
from tests.extensions.console.browser import Browser, csrf_field
from tests.extensions.console.conftest import HOSTILE, PASSWORD

PAGE = "/convos/support/ann"


@pytest.fixture
def bo(browser: Browser, workspace_api: Api) -> Browser:
    """Return the browser of an administrator, and create a conversation."""
    turns = [{"from": "human", "messages": [{"item": {"text": f"Hello {number}"}} for number in range(150)]}]
    body = {"turns": turns, "metadata": {"userName": HOSTILE}}
    assert workspace_api.post("/agents/support/interact/ann/state", body).status == 200
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": True})
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    return browser


@pytest.mark.skipif(not has("transcripts"), reason="Downloads need the extension transcripts.")
def test_a_download_contains_all_messages(bo: Browser) -> None:
    assert f"{PAGE}/export" in bo.open(PAGE).text
    file = bo.open(f"{PAGE}/export")
    assert file.headers["content-disposition"] == 'attachment; filename="conversation.json"'
    assert all(f"Hello {number}" in file.text for number in (0, 149))
    assert json.loads(file.text)["userName"] == HOSTILE
    assert bo.open("/convos/other/ann/export").status == 404


def test_a_deletion_shows_a_question_and_a_confirmation(bo: Browser, workspace_api: Api) -> None:
    assert f"{PAGE}/delete" in bo.open(PAGE).text
    notes = {"notes": "Undated <b>\n\nNoor Visser, 2026-11-27 08:11:02 UTC:\nCall <i>"}
    workspace_api.patch("/v3/agents/support/convos/ann", {"conversation": notes})
    page = bo.open(f"{PAGE}/delete")
    assert "<h1>Delete the conversation with &#34;&gt;&lt;img" in page.text
    assert all(
        text in page.text for text in ("<p>Undated &lt;b&gt;</p>", "<p>Call &lt;i&gt; <", "<bdi>Noor Visser</bdi>")
    )
    assert (f'href="{bo.home}{PAGE}/export" download>' in page.text) == has("transcripts")
    assert "permanently" in page.text and "<img" not in page.text
    assert "<dd>150</dd>" in page.text and "<dd>Hello 149</dd>" in page.text
    for _ in range(2):
        assert "The conversation has been deleted." in bo.submit(page, f"{PAGE}/delete", {}).text
    assert workspace_api.get("/v3/agents/support/convos/ann").status == 404


def test_only_administrators_delete(bo: Browser, workspace_api: Api) -> None:
    workspace_api.post("/v2/clients/bo", {"isOrgAdmin": False})
    bo.start_session(email="bo@acme.test", password=PASSWORD)
    page = bo.open(PAGE)
    assert f"{PAGE}/delete" not in page.text and bo.open(f"{PAGE}/delete").status == 403
    form = csrf_field(page)
    assert bo.post(f"{PAGE}/delete", form).status == 403
    assert workspace_api.get("/v3/agents/support/convos/ann").status == 200
