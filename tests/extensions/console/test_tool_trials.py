"""Operators test a tool on its page, and other people on a page of the test."""

import html
import re
from typing import Any

import pytest

from chalicelib.extensions.console.agent_pages import tool_results
from tests import extensions
from tests.api import Answer, Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.extensions.console.test_tool_form import CANARY, TOOL, controls
from tests.moto_tables import items
from tests.sending.receivers import Receiver, receiver

extensions.require("tool_calls")

from tests.extensions.tool_calls.servers import last_request, reads_any

pytestmark = pytest.mark.usefixtures("private")
NEW = "/agents/support/new-tool"
BOATS = b'HTTP/1.1 200 OK\r\nX-Boat: 1\r\nContent-Length: 13\r\n\r\n{"boats":[1]}'
NO_BOATS = b"HTTP/1.1 404 Not Found\r\nContent-Length: 7\r\n\r\n<b>no</"


def text_of(page: Answer) -> str:
    """Return the text of the tool's test, without tags."""
    aside = page.text.partition("<aside")[2].partition("</aside>")[0]
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", aside)).split())


def create(api: Api, **members: Any) -> str:
    """Create a tool; return the path of its page."""
    tool_id = api.post("/v3/agents/support/tools", {"tool": {"name": "find", **members}}).data["id"]
    return f"/agents/support/tools/{tool_id}/settings"


def requested_path(server: Receiver) -> str:
    """Return the path of the last request to a tool's server."""
    return last_request(server)[0].split()[1]


def test_a_new_tool_without_parameters_is_tested_at_once(operator: Browser, workspace_api: Api) -> None:
    with receiver(reads_any(BOATS)) as server:
        sent = {"name": "find", "serverUrl": f"{server.url}/boats", "action": "test", "fields.0.key": "page"}
        for _ in range(2):
            page = operator.submit(operator.open(NEW), NEW, {**sent, "form_id": "1"})
            assert (page.status, requested_path(server)) == (200, "/hook/boats")
    assert "The tool has been saved." in page.text and len(workspace_api.get("/v3/agents/support/tools").data) == 1
    test = text_of(page)
    assert re.search(r"Response 200 OK \d+ ms · 13 bytes", test) and '"boats" : [ 1 ]' in test
    assert "x-boat: 1" in test and f"Request GET {server.url}/boats" in test
    assert f"curl -X GET {server.url}/boats" in test
    assert (
        controls(page)["name"] == "find"
        and '<section class="result" aria-labelledby="result" tabindex="-1" autofocus>' in page.text
    )


def test_a_test_asks_for_the_values_that_a_call_needs(operator: Browser, workspace_api: Api) -> None:
    with receiver(reads_any(BOATS)) as server:
        url = {"serverUrl": f"{server.url}/{{pier}}", "fields.0.key": "pier", "fields.0.in": "path"}
        day, key = {"fields.1.key": "day", "fields.1.required": "on"}, {"fields.2.key": "key", "fields.2.value": CANARY}
        sent = {"name": "find", "action": "test", **url, **day, **key, "fields.2.required": "on"}
        page = operator.submit(operator.open(NEW), NEW, sent)
        assert (page.status, server.requests) == (200, [])
        assert "The tool has been saved." in page.text
        assert "Enter a value for pier, day, then choose “Save and test”." in text_of(page)
        assert re.findall('name="argument.([a-z]*)"[^>]* autofocus', page.text) == ["pier"]
        assert 'name="argument.key"' not in page.text  # the call has a fixed value
        path = f"/agents/support/tools/{workspace_api.get('/v3/agents/support/tools').data[0]['id']}/settings"
        values = {"argument.pier": "7", "argument.day": "<today>", "action": "test"}
        tested = operator.post(path, {**controls(page), **values})
        assert requested_path(server) == f"/hook/7?day=%3Ctoday%3E&key={CANARY}"
    assert "200 OK" in text_of(tested) and "day=%3Ctoday%3E&key=***" in text_of(tested) and CANARY not in tested.text


def test_a_changed_tool_is_saved_and_tested_with_the_same_values(operator: Browser, workspace_api: Api) -> None:
    with receiver(reads_any(NO_BOATS)) as server:
        fields = [{"key": "late", "type": "boolean", "in": "query"}, {"key": "pier", "in": "path"}]
        path = create(workspace_api, serverUrl=f"{server.url}/{{pier}}", fields=fields)
        page = operator.open(path)
        assert "The tool has been saved." not in page.text and 'form="tool" name="action" value="test"' in page.text
        values = {"argument.late": "true", "argument.pier": "'7'"}
        page = operator.post(path, {**controls(page), **values, "name": "find_all", "action": "test"})
        assert requested_path(server) == "/hook/%277%27?late=true"
    assert "404 Not Found" in text_of(page) and "Check the URL and the values in its path." in text_of(page)
    assert "&lt;b&gt;no&lt;/" in page.text
    for test in (page, operator.post(path, {**controls(page), **values, "description": "Boats"})):
        assert 'value="&#39;7&#39;"' in test.text and '<option value="true" selected>' in test.text
        assert controls(test)["name"] == "find_all"
    assert "The tool has been saved." in test.text and 'aria-labelledby="result"' not in test.text
    invalid = operator.post(path, {**controls(test), **values, "name": "find all", "action": "test"})
    assert (
        invalid.status == 400
        and 'value="&#39;7&#39;"' in invalid.text
        and 'aria-labelledby="result"' not in invalid.text
    )


def test_a_retested_tool_is_not_changed(operator: Browser, workspace_api: Api) -> None:
    with receiver(reads_any(BOATS)) as server:
        path = create(workspace_api, serverUrl=server.url)
        page, before = operator.open(path), items()
        assert "200 OK" in operator.post(path, {**controls(page), "action": "test"}).text
    assert items() == before


def test_a_test_without_a_response_says_what_to_check(operator: Browser, workspace_api: Api) -> None:
    path = create(workspace_api, **{**TOOL, "serverUrl": "http://127.0.0.1:9/{number}"})
    tested = operator.post(path, {**controls(operator.open(path)), "argument.number": "5", "action": "test"})
    test = text_of(tested)
    assert "Response No response" in test and "Check the URL, and that the server can be reached" in test
    assert "http://127.0.0.1:9/5 X-Key: *** X-Tool-Secret: ***" in test and CANARY not in tested.text
    listed = operator.open("/agents/support")
    again = operator.submit(listed, path.removesuffix("/settings"), {"argument.number": "6"})
    assert "http://127.0.0.1:9/6" in text_of(again) and controls(again)["name"] == "Look up"


def test_an_argument_that_a_call_rejects_is_explained(operator: Browser, workspace_api: Api) -> None:
    path = create(workspace_api, serverUrl="https://a.test/{number}", fields=[{"key": "number", "in": "path"}])
    page = operator.post(path, {**controls(operator.open(path)), "argument.number": "..", "action": "test"})
    assert page.status == 200 and "number must not be . or .. in a path" in text_of(page)
    assert re.search('name="argument.number"[^>]* aria-invalid="true"[^>]* autofocus', page.text)
    path = create(workspace_api)
    page = operator.post(path, {**controls(operator.open(path)), "action": "test"})
    assert page.status == 200 and "Enter the URL of the tool's server, then choose" in text_of(page)


def test_people_test_a_tool_on_a_page_of_the_test(browser: Browser, workspace_api: Api) -> None:
    browser.start_session(email="bo@acme.test", password=PASSWORD)
    with receiver(reads_any(BOATS)) as server:
        path = create(workspace_api, serverUrl=server.url, fields=[{"key": "day", "in": "query"}])
        page = browser.submit(browser.open("/agents/support"), path.removesuffix("/settings"), {"argument.day": "1"})
        assert requested_path(server) == "/hook?day=1"
    assert "200 OK" in page.text and 'name="argument.day" value="1"' in page.text and path not in page.text


@pytest.mark.parametrize(
    ("body", "text"), [('{"a":[1]}', '{\n  "a": [\n    1\n  ]\n}'), ("no JSON", None), ("[" * 9_000, None)]
)
def test_a_json_body_is_indented(body: str, text: str | None) -> None:
    assert tool_results.indented(body) == text


def test_a_request_with_a_body_is_shown_as_a_command(operator: Browser, workspace_api: Api) -> None:
    fields = [{"key": "boat", "in": "body"}]
    path = create(workspace_api, method="POST", serverUrl="http://127.0.0.1:9/a b", fields=fields)
    test = text_of(operator.post(path, {**controls(operator.open(path)), "argument.boat": "it's", "action": "test"}))
    assert """-H 'Content-Type: application/json' \\ --data '{"boat":"it'"'"'s"}'""" in test


@pytest.mark.parametrize(
    ("method", "request_text"),
    [
        ("GET", "GET https://a.test/{pier}?v=1&day={day} X-Key: *** X-Lang: {X-Lang} X-Tool-Secret: ***"),
        ("POST", 'POST https://a.test/{pier}?v=1 X-Key: *** X-Lang: {X-Lang} X-Tool-Secret: *** { "day": "{day}" }'),
    ],
)
def test_the_page_shows_the_request_before_the_first_test(
    operator: Browser, workspace_api: Api, method: str, request_text: str
) -> None:
    headers = [{"key": "X-Key", "in": "header", "value": CANARY}, {"key": "X-Lang", "in": "header"}]
    fields = [{"key": "pier", "in": "path"}, {"key": "day"}, *headers]
    members = {"serverUrl": "https://a.test/{pier}?v=1", "serverUrlSecret": CANARY, "fields": fields}
    page = operator.open(create(workspace_api, method=method, **members))
    assert text_of(page).endswith(f"Save and test Request {request_text}") and CANARY not in page.text
