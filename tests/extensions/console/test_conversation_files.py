"""People download the conversations of a list in the console, as JSON or CSV."""

import csv
import io
import json
import re
from typing import Any

import pytest

from chalicelib import storage
from chalicelib.extensions.console.inbox_pages import all_conversations, conversation_files, conversation_list
from tests import extensions
from tests.api import Answer, Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import HOSTILE, PASSWORD

extensions.require("transcripts")

FILES = ("/convos.json", "/convos.csv")


@pytest.fixture
def bo(browser: Browser, workspace_api: Api) -> Browser:
    """Return a person's browser, and create conversations with three agents. The person sees two of the agents."""
    workspace_api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": ["support", "sales"]})
    workspace_api.post("/v2/agents/sales", {"title": "Sales"})
    for number in range(7):
        converse(workspace_api, ("support", "sales")[number % 2], f"c{number}")
    converse(workspace_api, "other", "hidden")
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    return browser


def converse(api: Api, agent_id: str, conversation_id: str) -> None:
    number = int(conversation_id[1:]) if conversation_id[1:].isdecimal() else 0
    turns = [{"from": "human", "messages": [{"item": {"text": f"Question {number} {HOSTILE}"}}]}]
    metadata = {"userName": f"Ann {number}", "state": ("requested_chat", "ended_chat")[number // 4]}
    body = {"turns": turns, "metadata": {**metadata, "tags": ["a", "b"]}}
    assert api.post(f"/agents/{agent_id}/interact/{conversation_id}/state", body).status == 200


def ids(file: Answer) -> list[str]:
    """Return the ids of the conversations in a file."""
    assert file.status == 200, file.text[:300]
    if file.headers["content-type"] == "application/json":
        return [record["ID"] for record in json.loads(file.text)]
    return [row["ID"] for row in rows(file)]


def rows(file: Answer) -> list[dict[str, Any]]:
    return [*csv.DictReader(io.StringIO(file.text, newline=""))]


@pytest.mark.parametrize("path", FILES)
def test_a_file_contains_the_conversations_of_the_list_in_its_order(path: str, bo: Browser) -> None:
    for query in ("", "?tab=all", "?tab=all&agent=sales", "?tab=all&state=ended_chat", "?tab=all&q=Ann+3", "?tab=mine"):
        page = bo.open(f"/convos{query}").text.partition('<ul class="inbox')[2]
        listed = re.findall(r'href="[^"]*/convos/\w+/(c\d)["?]', page)
        assert ids(bo.open(f"{path}{query}")) == listed, query
    assert len(ids(bo.open(f"{path}?tab=all"))) == 7


def test_a_file_contains_the_messages(bo: Browser) -> None:
    page = bo.open("/convos?tab=all&agent=sales").text
    links = dict(re.findall(r'href="[^"]*(/convos\.(json|csv)\?[^"]*)" download', page))
    (by_name, first) = ({name: link.replace("&amp;", "&") for link, name in links.items()}, "c5")
    record = json.loads(bo.open(by_name["json"]).text)[0]
    assert (record["ID"], record["agentId"]) == (first, "sales")
    assert record["messages"][0]["item"]["text"] == f"Question 5 {HOSTILE}"
    file = bo.open(by_name["csv"])
    assert file.headers["content-disposition"] == 'attachment; filename="conversations.csv"'
    row = rows(file)[0]
    assert (row["ID"], row["agentId"], row["tags"], row["messagesNum"]) == (first, "sales", "a, b", "1")
    assert row["transcript"] == f"human: Question 5 {HOSTILE}"
    assert row["ts"].endswith("Z") and row["lastModified"].endswith("Z")


@pytest.mark.parametrize("path", FILES)
def test_a_file_continues_on_the_following_pages(path: str, bo: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(all_conversations, "MAX_ROWS", 2)
    monkeypatch.setattr(conversation_files, "_MAX_IDS", 1)
    monkeypatch.setattr(conversation_list, "MAX_PAGES", 3)
    assert ids(bo.open(f"{path}?tab=all")) == ["c6", "c5", "c4", "c3", "c2", "c1"]


def test_a_page_without_conversations_offers_no_file(bo: Browser) -> None:
    assert "/convos.csv" in bo.open("/convos").text
    assert "/convos.csv" not in bo.open("/convos?tab=mine").text
    assert ids(bo.open("/convos.csv?tab=mine")) == ids(bo.open("/convos.json?tab=mine")) == []


@pytest.mark.parametrize("path", FILES)
def test_a_file_that_is_too_large_is_refused(path: str, bo: Browser, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(conversation_files, "_MAX_BYTES", 1_000)
    page = bo.open(f"{path}?tab=all")
    assert (page.status, "The file would be too large" in page.text) == (413, True)


@pytest.mark.parametrize(
    ("path", "item"), [*((path, {"text": '"' * 3_000}) for path in FILES), (FILES[0], {"x": [[[]] * 900]})]
)
def test_a_file_that_lambda_cannot_return_is_refused(
    path: str, item: Any, bo: Browser, workspace_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The response is longer than its records: quotation marks are escaped again, and list entries are indented."""
    message = {"from": "human", "item": item}
    assert workspace_api.post("/agents/sales/interact/c8/messages", {"messages": [message]}).status == 200
    records = len(storage.encode_json(json.loads(bo.open("/convos.json?tab=all").text)))
    assert bo.open(f"{path}?tab=all").status == 200
    monkeypatch.setattr(conversation_files, "_MAX_BYTES", records)
    monkeypatch.setattr(conversation_files, "_MAX_FILE", records)
    page = bo.open(f"{path}?tab=all")
    assert (page.status, "The file would be too large" in page.text) == (413, True)
