"""The chat widget from docs/widget.md runs in Chromium on a different origin than the service."""

import hashlib
import json
import os
import re
import subprocess
import threading
import time
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.wait import WebDriverWait

from chalicelib.credentials import tokens
from tests.browser import chromium
from tests.reliability import runs
from tests.reliability.runs import Run

TEXT = (Path(__file__).parents[2] / "docs" / "widget.md").read_text(encoding="utf-8")
SECONDS = 30


def code(language: str) -> str:
    """Return the document's only code block in this language."""
    (block,) = re.findall(rf"```{language}\n(.*?)```", TEXT, re.DOTALL)
    return str(block)


class BackEnd(ThreadingHTTPServer):
    """A page's web server, which serves the widget and requests tokens as described in the document."""

    def __init__(self, run: Run) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.run, self.conversation, self.token = run, "", ""
        key = run.credentials["workspace_key"]
        runs.ask(run, "POST", "/v2/agents/support", key, {})
        _, agent = runs.ask(run, "GET", "/v2/agents/support", key)
        self.agent_key: str = agent["SECRET_API_KEY"]
        self.url = f"http://localhost:{self.server_port}/"

    def ask(self, path: str, body: Any) -> Any:
        """Send a request for the conversation to the service, with the agent key."""
        address = f"/agents/support/interact/{self.conversation}/{path}"
        status, answer = runs.ask(self.run, "POST", address, self.agent_key, body)
        assert status == 200, answer
        return answer

    def say(self, text: str) -> None:
        """Add a message from the agent."""
        self.ask("messages", {"messages": [{"from": "bot", "type": "text", "item": {"text": text}}]})

    def start_session(self) -> dict[str, str]:
        """Return the response for `/chat-session`. Keep the token for the next page."""
        service = f"http://127.0.0.1:{self.run.port}"
        names = {"CAMS": service, "AGENT": "support", "CONVERSATION": self.conversation, "AGENT_KEY": self.agent_key}
        sent = subprocess.run(["sh", "-c", code("sh")], env=os.environ | names, capture_output=True, check=True)
        self.token = self.token or json.loads(sent.stdout)["data"]["token"]
        return {"conversation": f"{service}/agents/support/interact/{self.conversation}", "token": self.token}


class _Handler(BaseHTTPRequestHandler):
    server: BackEnd

    def do_GET(self) -> None:
        self._answer("text/html", code("html") if self.path == "/" else "")

    def do_POST(self) -> None:
        self._answer("application/json", json.dumps(self.server.start_session()))

    def _answer(self, kind: str, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Run]:
    """Run the service on a free port, as `make run` does."""
    service = runs.begin(tmp_path_factory.mktemp("run"), runs.free_port())
    yield service
    runs.kill(service)


@pytest.fixture(scope="module")
def web(run: Run) -> Iterator[BackEnd]:
    server = BackEnd(run)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield server
    server.shutdown()


@pytest.fixture(scope="module")
def browser() -> Iterator[Chrome]:
    with chromium.started() as driver:
        yield driver


@pytest.fixture
def page(web: BackEnd, browser: Chrome, request: pytest.FixtureRequest) -> Iterator[Chrome]:
    """Open the widget as a new visitor who starts a new conversation."""
    web.conversation, web.token = hashlib.sha256(request.node.name.encode()).hexdigest()[:12], ""
    browser.get(web.url)
    yield browser
    browser.get("about:blank")


def write(page: Chrome, text: str) -> None:
    page.find_element(By.CSS_SELECTOR, "#chat input").send_keys(text, Keys.ENTER)


def texts(page: Chrome, selector: str) -> list[str]:
    """Return the texts of all matching elements from a single script call, because the widget replaces its elements."""
    found: list[str] = page.execute_script(
        "return [...document.querySelectorAll(arguments[0])].map((one) => one.textContent)", selector
    )
    return found


def lines(page: Chrome, kind: str = "") -> list[str]:
    return texts(page, f"#chat li{kind}")


def problem(page: Chrome) -> str:
    (text,) = texts(page, "#chat [role=alert]")
    return text


def eventually(page: Chrome, what: Any, expected: Any) -> None:
    WebDriverWait(page, SECONDS, 0.05).until(lambda _: what(page) == expected, f"{what(page)} is not {expected}")


def stored(web: BackEnd) -> list[tuple[str, str]]:
    return [(turn["from"], turn["messages"]["item"]["text"]) for turn in web.ask("state", {})["turns"]]


def test_the_widget_has_forty_lines_that_fit_on_a_screen() -> None:
    block = code("html").splitlines()
    assert len(block) <= 40
    assert max(map(len, block)) <= 120


def test_a_visitor_writes_and_sees_the_answer(page: Chrome, web: BackEnd) -> None:
    write(page, "Where is my order?")
    eventually(page, partial(lines, kind=".human"), ["Where is my order?"])
    assert stored(web) == [("human", "Where is my order?")]
    web.say("It is on its way.")
    eventually(page, lines, ["Where is my order?", "It is on its way."])
    assert lines(page, ".bot") == ["It is on its way."]
    write(page, "Thanks!")
    eventually(page, lines, ["Where is my order?", "It is on its way.", "Thanks!"])
    assert problem(page) == ""
    assert [
        one for one in page.get_log("browser") if one["level"] == "SEVERE" and "favicon" not in one["message"]
    ] == []


def test_a_script_in_a_message_does_not_run(page: Chrome, web: BackEnd) -> None:
    attacks = ["<script>document.title = 'run'</script>", "<img src=x onerror=\"document.title = 'run'\">"]
    for attack in attacks:
        web.say(attack)
    write(page, attacks[1])
    eventually(page, lines, [*attacks, attacks[1]])
    assert page.find_elements(By.CSS_SELECTOR, "#chat img, #chat script") == []
    assert page.title == "Chat"


def test_an_expired_token_shows_why_and_sends_nothing_more(page: Chrome, web: BackEnd, run: Run) -> None:
    write(page, "Hello")
    eventually(page, lines, ["Hello"])
    web.token = ""
    fresh = web.start_session()["token"]
    engine, name = runs.engine_client(run, "dynamodb"), "cams-credentials"
    engine.update_item(
        TableName=name,
        Key={"token_hash": {"S": tokens.fingerprint(fresh)}},
        UpdateExpression="SET expires_at = :now",
        ExpressionAttributeValues={":now": {"N": str(int(time.time()) + 4)}},
    )
    page.get(web.url)
    eventually(page, lines, ["Hello"])
    eventually(page, problem, "This chat has expired. Reload the page.")
    write(page, "Too late")
    time.sleep(3.5)  # longer than the widget's polling interval
    assert stored(web) == [("human", "Hello")]
    web.token = ""
    page.refresh()
    eventually(page, lines, ["Hello"])
    assert problem(page) == ""


def test_what_was_written_without_a_connection_is_sent_once(page: Chrome, web: BackEnd) -> None:
    write(page, "First")
    eventually(page, lines, ["First"])
    limits = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
    page.execute_cdp_cmd("Network.enable", {})
    page.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": True, **limits})
    write(page, "Second")
    eventually(page, lambda driver: bool(problem(driver)), True)
    write(page, "Third")
    page.execute_cdp_cmd("Network.emulateNetworkConditions", {"offline": False, **limits})
    eventually(page, lines, ["First", "Second", "Third"])
    eventually(page, problem, "")
    assert stored(web) == [("human", "First"), ("human", "Second"), ("human", "Third")]


def test_an_answer_that_was_lost_adds_no_message_twice(page: Chrome, web: BackEnd) -> None:
    # Drop the first response to new messages after the service has stored the messages.
    page.execute_script("""
        const real = window.fetch;
        window.fetch = async (url, options) => {
          const answer = await real(url, options);
          if (!url.endsWith("/messages") || window.lost) return answer;
          window.lost = true;
          throw new TypeError("lost");
        };
    """)
    write(page, "Once")
    eventually(page, problem, "lost")
    eventually(page, lines, ["Once"])
    assert stored(web) == [("human", "Once")]


def test_a_page_cannot_read_answers_to_an_agent_key(page: Chrome, web: BackEnd, run: Run) -> None:
    send = """
        const [url, key, done] = arguments;
        const headers = {"Authorization": `Bearer ${key}`, "Content-Type": "application/json"};
        const answer = fetch(url, {method: "POST", headers, body: "{}"});
        answer.then(({status}) => done(status), ({name}) => done(name));
    """
    start = f"http://127.0.0.1:{run.port}/agents/support/interact/{web.conversation}"
    requests = {
        "visitor token": (f"{start}/state", web.start_session()["token"]),
        "unknown visitor token": (f"{start}/state", tokens.new(tokens.VISITOR)),
        "agent key": (f"{start}/state", web.agent_key),
        "workspace key": (f"{start}/state", run.credentials["workspace_key"]),
        "no visitor's route": (f"{start}/visitor-tokens", web.start_session()["token"]),
    }
    results = {name: page.execute_async_script(send, *one) for name, one in requests.items()}
    assert results == {
        "visitor token": 200,
        "unknown visitor token": 401,
        "agent key": "TypeError",
        "workspace key": "TypeError",
        "no visitor's route": "TypeError",
    }
