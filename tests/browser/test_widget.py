"""The chat widget that the console serves runs in Chromium on a different origin than the service."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
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
from tests import extensions
from tests.browser import axe, chromium, silent_hour
from tests.reliability import runs
from tests.reliability.runs import Run

extensions.require("console")

ROOT = Path(__file__).parents[2]
FILES = {"/": ("chat.html", "text/html"), "/chat.js": ("chat.js", "text/javascript")}
SECONDS = 30
LOST = "The connection is lost. Trying again …"


def command() -> str:
    """Return the document's command that requests a token."""
    (block,) = re.findall(r"```sh\n(.*?)```", (ROOT / "docs/widget.md").read_text(encoding="utf-8"), re.DOTALL)
    return str(block)


def file(name: str) -> str:
    """Return the content of one of the widget's files."""
    return (ROOT / "chalicelib/extensions/console/site" / name).read_text(encoding="utf-8")


def bot(text: str) -> Any:
    """Return a message from the agent."""
    return {"from": "bot", "type": "text", "item": {"text": text}}


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
        self.ask("messages", {"messages": [bot(text)]})

    def start_session(self) -> dict[str, str]:
        """Return the response for `/chat-session`. Keep the token for the next page."""
        service = f"http://127.0.0.1:{self.run.port}"
        names = {"CAMS": service, "AGENT": "support", "CONVERSATION": self.conversation, "AGENT_KEY": self.agent_key}
        sent = subprocess.run(["sh", "-c", command()], env=os.environ | names, capture_output=True, check=True)
        self.token = self.token or json.loads(sent.stdout)["data"]["token"]
        return {"conversation": f"{service}/agents/support/interact/{self.conversation}", "token": self.token}


class _Handler(BaseHTTPRequestHandler):
    server: BackEnd

    def do_GET(self) -> None:
        name, kind = FILES.get(self.path, ("", "text/plain"))
        self._answer(kind, file(name) if name else "")

    def do_POST(self) -> None:
        if self.path == "/chat-person":
            self.server.ask("state", {"metadata": {"state": "requested_chat"}})
        answer = {} if self.path == "/chat-person" else self.server.start_session()
        self._answer("application/json", json.dumps(answer))

    def _answer(self, kind: str, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: Any) -> None:
        pass


# Answer the next requests for messages with this status, these headers and this code.
_REPLACE_ANSWERS = """
const [status, headers, times, code] = arguments, real = window.fetch;
let left = times;
window.fetch = async (url, options) => {
  if (!url.includes("/messages") || left === 0) return real(url, options);
  left -= 1;
  return new Response(JSON.stringify({code}), {status, headers});
};
"""
_COUNT_REQUESTS = """
const real = window.fetch;
window.requests = 0;
window.fetch = (...given) => { window.requests += 1; return real(...given); };
"""
_HIDE = """
Object.defineProperty(document, "hidden", {value: arguments[0], configurable: true});
document.dispatchEvent(new Event("visibilitychange"));
"""


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
    return texts(page, f"#chat li{kind}:not(.unsent)")


def unsent(page: Chrome) -> list[str]:
    return texts(page, "#chat li.unsent")


def problem(page: Chrome) -> str:
    (text,) = texts(page, "#chat [role=alert]")
    return text


def eventually(page: Chrome, what: Any, expected: Any) -> None:
    WebDriverWait(page, SECONDS, 0.05).until(lambda _: what(page) == expected, f"{what(page)} is not {expected}")


def stored(web: BackEnd) -> list[tuple[str, str]]:
    return [(turn["from"], turn["messages"]["item"]["text"]) for turn in web.ask("state", {})["turns"]]


@pytest.mark.parametrize(("name", "lines"), [("chat.html", 40), ("chat.js", 80)])
def test_the_widget_is_short_and_fits_on_a_screen(name: str, lines: int) -> None:
    content = file(name).splitlines()
    assert len(content) <= lines
    assert max(map(len, content)) <= 120


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
    # Chromium logs each 404: those for the icon, and those before the first message.
    log = [one["message"] for one in page.get_log("browser") if one["level"] == "SEVERE"]
    assert [one for one in log if "status of 404" not in one] == []


def test_a_visitor_asks_for_a_person(page: Chrome, web: BackEnd) -> None:
    button = page.find_element(By.CSS_SELECTOR, "#chat p + button")
    assert not button.is_displayed()
    write(page, "Hello")
    eventually(page, lambda _: button.is_displayed(), True)
    button.click()
    eventually(page, partial(texts, selector="#chat [role=status]"), ["A person will join soon."])
    assert not button.is_displayed() and web.ask("state", {})["chatState"]["state"] == "requested_chat"


def test_a_message_asks_for_a_person_where_no_bot_answers(page: Chrome, web: BackEnd) -> None:
    page.execute_script("document.querySelector('#chat').dataset.people = ''")
    write(page, "Are you open?")
    eventually(page, partial(texts, selector="#chat [role=status]"), ["A person will join soon."])
    write(page, "Hello?")
    eventually(page, lines, ["Are you open?", "Hello?"])
    assert web.ask("state", {})["chatState"]["state"] == "requested_chat"


@pytest.mark.skipif(shutil.which("npm") is None, reason="NOT TESTED with axe-core: npm is missing.")
def test_the_widget_is_accessible(page: Chrome, web: BackEnd) -> None:
    axe.install()
    write(page, "Hello")
    eventually(page, lines, ["Hello"])
    web.say("Good morning.")
    eventually(page, lines, ["Hello", "Good morning."])
    assert axe.violations(page) == []
    assert [one for one in axe.contrasts(page) if one[1] < one[2]] == []


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
    eventually(page, problem, LOST)
    write(page, "Third")
    assert unsent(page) == ["Second", "Third"]
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
          if (options.method !== "POST" || window.lost) return answer;
          window.lost = true;
          throw new TypeError("lost");
        };
    """)
    write(page, "Once")
    eventually(page, problem, LOST)
    assert unsent(page) == ["Once"]
    eventually(page, lines, ["Once"])
    assert (unsent(page), problem(page)) == ([], "")
    assert stored(web) == [("human", "Once")]


def test_a_new_token_replaces_an_expired_one(page: Chrome, web: BackEnd) -> None:
    write(page, "Hello")
    eventually(page, lines, ["Hello"])
    page.execute_script(_REPLACE_ANSWERS, 401, {}, 1)
    web.token = ""
    write(page, "Still there?")
    eventually(page, lines, ["Hello", "Still there?"])
    assert web.token and problem(page) == ""
    assert stored(web) == [("human", "Hello"), ("human", "Still there?")]


def test_an_unavailable_service_gets_the_message_after_the_time_that_it_names(page: Chrome, web: BackEnd) -> None:
    write(page, "First")
    eventually(page, lines, ["First"])
    page.execute_script(_REPLACE_ANSWERS, 503, {"Retry-After": "4"}, 1)
    begun = time.monotonic()
    write(page, "Second")
    eventually(page, problem, "The chat is busy. Trying again …")
    page.execute_script(_HIDE, False)  # the visitor returns to the page too early
    assert unsent(page) == ["Second"]
    eventually(page, lines, ["First", "Second"])
    assert (time.monotonic() - begun > 4, problem(page)) == (True, "")
    assert stored(web) == [("human", "First"), ("human", "Second")]


@pytest.mark.parametrize(("status", "code"), [(409, "STALE"), (429, "THROTTLED")])
def test_a_rejection_that_passes_does_not_end_the_chat(page: Chrome, web: BackEnd, status: int, code: str) -> None:
    page.execute_script(_REPLACE_ANSWERS, status, {}, 1, code)
    write(page, "Hello")
    eventually(page, problem, "The chat is busy. Trying again …")
    eventually(page, lines, ["Hello"])
    assert (problem(page), stored(web)) == ("", [("human", "Hello")])


def test_a_hidden_page_sends_no_request_and_catches_up_at_once(page: Chrome, web: BackEnd) -> None:
    web.say("Hello")
    eventually(page, lines, ["Hello"])
    page.execute_script(_HIDE, True)
    time.sleep(0.5)  # for a request that has begun
    page.execute_script(_COUNT_REQUESTS)
    web.say("Are you there?")
    time.sleep(4)  # more than two polling intervals
    assert (page.execute_script("return window.requests"), lines(page)) == (0, ["Hello"])
    page.execute_script(_HIDE, False)
    assert page.execute_script("return window.requests") == 1
    eventually(page, lines, ["Hello", "Are you there?"])


def test_edits_deletions_and_the_state_appear(page: Chrome, web: BackEnd) -> None:
    web.ask("messages", {"messages": [{"mid": str(one), **bot(f"Line {one}")} for one in range(30)]})
    eventually(page, lambda _: len(lines(page)), 30)
    page.execute_script("document.querySelector('#chat ul').scrollTop = 100")
    path = f"/v3/agents/support/convos/{web.conversation}"
    ask = partial(runs.ask, web.run, token=web.run.credentials["workspace_key"])
    assert ask("PATCH", f"{path}/messages/28", body={"message": {"item": {"text": "Edited"}}})[0] == 200
    eventually(page, lambda _: lines(page)[28], "Edited")
    assert ask("DELETE", f"{path}/messages/29")[0] == 200
    eventually(page, lambda _: lines(page)[-1], "Edited")
    web.say("New")
    eventually(page, lambda _: lines(page)[-1], "New")
    assert abs(page.execute_script("return document.querySelector('#chat ul').scrollTop") - 100) < 60
    assert ask("PATCH", path, body={"conversation": {"state": "human-chatting"}})[0] == 200
    eventually(page, lambda _: texts(page, "#chat [role=status]"), ["A person has joined."])


def test_a_page_sends_few_requests_in_a_silent_hour(page: Chrome, web: BackEnd) -> None:
    web.say("Hello")
    with chromium.started() as driver:
        requests = silent_hour.count_requests(driver, web.url)
        assert lines(driver) == ["Hello"]
    sys.stdout.write(f"A silent widget sends {requests} requests in an hour.\n")
    assert requests <= silent_hour.MOST


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
