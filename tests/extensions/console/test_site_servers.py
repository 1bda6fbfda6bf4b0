"""The example servers run, start conversations with the agent key, and give each page a token for its own."""

import http.client
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from chalicelib.extensions.console.agent_pages import site_files
from infra.local.children import ROOT
from tests.api import Api
from tests.generated_clients.servers import serving
from tests.reliability.runs import free_port, listens

COMMANDS = {site_files.PYTHON: [sys.executable, "-W", "error"], site_files.NODE: ["node"]}
SAME_SITE = {"Sec-Fetch-Site": "same-origin"}
SITES = "https://www.acme.test https://acme.test"


class Gateway(BaseHTTPRequestHandler):
    """Passes requests to the service."""

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        answer = Api().call(self.command, self.path, body or None, dict(self.headers))
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(answer.text.encode())

    do_GET = do_POST = _pass_on

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def service() -> Iterator[str]:
    """Serve the service on a port, and return its URL."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Gateway)
    with serving(server):
        yield f"http://127.0.0.1:{server.server_port}"


@contextmanager
def started(name: str, service: str, folder: Path, key: str, sites: str = "") -> Iterator["Visitor"]:
    """Download the files as a developer does, and run a server with the agent key for these sites."""
    host = {"Host": service.removeprefix("http://")}
    for one in (name, *site_files.WIDGET):
        answer = Api().call("GET", f"/console/site/{one}?agent=support", None, host)
        assert answer.headers["content-disposition"] == f'attachment; filename="{one}"'
        (folder / one).write_text(answer.text, encoding="utf-8")
    port = free_port()
    variables = {"AGENT_KEY": key, "PORT": str(port), "PATH": os.environ["PATH"], **({"SITES": sites} if sites else {})}
    log = (folder / "log").open("wb")
    process = subprocess.Popen([*COMMANDS[name], str(folder / name)], env=variables, stdout=log, stderr=log)
    try:
        while not listens(port):
            assert process.poll() is None, (folder / "log").read_text()
        yield Visitor(port, sites)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait()
        log.close()


class Visitor:
    """A visitor's browser."""

    def __init__(self, port: int, sites: str = "") -> None:
        self.port, self.sites, self.cookie = port, sites, ""

    def ask(self, method: str, path: str, headers: dict[str, str] | None = None) -> tuple[Any, str]:
        """Return the response and its body. Keep the cookie."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connection.request(method, path, headers={"Cookie": self.cookie, **(SAME_SITE if headers is None else headers)})
        response = connection.getresponse()
        text = response.read().decode()
        if cookie := response.headers["Set-Cookie"]:
            sent_to = {"SameSite=None", "Partitioned"} if self.sites else {"SameSite=Strict"}
            assert {"HttpOnly", "Secure", "Path=/"} | sent_to == {*cookie.split("; ")[1:]} - {"Max-Age=2592000"}
            self.cookie = cookie.partition(";")[0]
        assert response.headers["Cache-Control"] == "no-store"
        assert response.headers["Content-Security-Policy"] == f"frame-ancestors 'self' {self.sites}".strip()
        return response, text

    def start(self) -> dict[str, Any]:
        """Return the session that the page gets."""
        response, text = self.ask("POST", "/chat-session")
        assert response.status == 200 and response.headers["Content-Type"].startswith("application/json")
        session: dict[str, Any] = json.loads(text)
        return session


@pytest.mark.parametrize("name", site_files.SERVERS)
def test_a_page_without_a_cookie_keeps_its_conversation(
    name: str, service: str, workspace_api: Api, tmp_path: Path
) -> None:
    key = workspace_api.get("/v3/agents/support").data["SECRET_API_KEY"]
    with started(name, service, tmp_path, key, SITES) as visitor:
        first = visitor.start()
        headers = {**SAME_SITE, "Chat-Visitor": first["visitor"]}
        visitor.cookie = ""
        again = json.loads(visitor.ask("POST", "/chat-session", headers)[1])
        assert (again["conversation"], again["visitor"]) == (first["conversation"], first["visitor"])
        visitor.cookie = ""
        assert visitor.ask("POST", "/chat-person", headers)[0].status == 200
        visitor.cookie = ""
        for unknown in ({}, {"Chat-Visitor": ""}, {"Chat-Visitor": "<script>"}):
            assert visitor.ask("POST", "/chat-person", {**SAME_SITE, **unknown})[0].status == 400
    waiting = workspace_api.get("/v3/convos?inbox=true").data
    assert [one["ID"] for one in waiting] == [first["conversation"].rpartition("/")[2]]


@pytest.mark.parametrize("name", site_files.SERVERS)
def test_a_site_with_a_path_may_show_the_chat(name: str, service: str, tmp_path: Path) -> None:
    """A browser would apply a path in the policy to no page, and block the chat."""
    with started(
        name, service, tmp_path, "key", "https://www.acme.test/shop https://acme.test/ acme.test:8443/a//b"
    ) as visitor:
        visitor.sites = "https://www.acme.test https://acme.test acme.test:8443"
        assert visitor.ask("GET", "/")[0].status == 200


@pytest.mark.parametrize("name", site_files.SERVERS)
@pytest.mark.parametrize("sites", ["", SITES])
def test_each_visitor_gets_a_token_for_an_own_conversation(
    name: str, sites: str, service: str, workspace_api: Api, tmp_path: Path
) -> None:
    key = workspace_api.get("/v3/agents/support").data["SECRET_API_KEY"]
    with started(name, service, tmp_path, key, sites) as visitor:
        assert 'import {chat} from "/chat.js"' in visitor.ask("GET", "/?from=mail")[1]
        assert "export async function chat" in visitor.ask("GET", "/chat.js")[1]
        response, text = visitor.ask("GET", "/embed.js", {"Sec-Fetch-Site": "cross-site"})
        assert (response.headers["Content-Type"], "cams-chat" in text) == ("text/javascript; charset=utf-8", True)
        first, again = visitor.start(), visitor.start()
        assert first["conversation"] == again["conversation"] and first["token"] != again["token"]
        assert first["conversation"].startswith(f"{service}/agents/support/interact/")
        assert key not in json.dumps(first) and first["conversation"].rpartition("/")[2] not in visitor.cookie
        path = f"{first['conversation'].removeprefix(service)}/messages"
        written = {"messages": [{"mid": "m1", "type": "text", "item": {"text": "Hello"}}]}
        assert Api(first["token"]).post(path, written).status == 200
        other = Visitor(visitor.port, sites)
        assert other.start()["conversation"] != first["conversation"]
        # A visitor who knows a conversation's id cannot open it with the id as cookie.
        other.cookie = f"chat={first['conversation'].rpartition('/')[2]}"
        session = other.start()
        assert session["conversation"] != first["conversation"] and Api(session["token"]).get(path).status == 403
    assert [one["interactionsNum"] for one in workspace_api.get("/v3/agents/support/convos").data] == [1]


@pytest.mark.parametrize("name", site_files.SERVERS)
def test_a_server_lets_a_visitor_wait_for_a_person(name: str, service: str, workspace_api: Api, tmp_path: Path) -> None:
    key = workspace_api.get("/v3/agents/support").data["SECRET_API_KEY"]
    with started(name, service, tmp_path, key) as visitor:
        session = visitor.start()
        message = {"messages": [{"mid": "m1", "type": "text", "item": {"text": "Hello"}}]}
        Api(session["token"]).post(f"{session['conversation'].removeprefix(service)}/messages", message)
        response, text = visitor.ask("POST", "/chat-person")
        assert (response.status, text) == (200, "{}")
        assert visitor.ask("POST", "/chat-person", {"Sec-Fetch-Site": "cross-site"})[0].status == 403
    (conversation,) = workspace_api.get("/v3/agents/support/convos").data
    assert (conversation["state"], conversation["interactionsNum"]) == ("requested_chat", 1)


@pytest.mark.parametrize("name", site_files.SERVERS)
def test_a_session_has_the_current_welcome_messages(
    name: str, service: str, workspace_api: Api, tmp_path: Path
) -> None:
    key = workspace_api.get("/v3/agents/support").data["SECRET_API_KEY"]
    with started(name, service, tmp_path, key) as visitor:
        assert visitor.start()["welcome"] == []
        workspace_api.patch("/v3/agents/support", {"agent": {"vg_initMessages": ["Hello ☀", "How can we help?"]}})
        assert visitor.start()["welcome"] == ["Hello ☀", "How can we help?"]
    assert workspace_api.get("/v3/agents/support/convos").data == []


@pytest.mark.parametrize("name", site_files.SERVERS)
def test_a_server_refuses_other_sites_and_serves_no_other_file(
    name: str, service: str, workspace_api: Api, tmp_path: Path
) -> None:
    wrong = "cams_agent_" + "a" * 43
    with started(name, service, tmp_path, wrong) as visitor:
        for site in ("cross-site", "same-site", "none"):
            response, text = visitor.ask("POST", "/chat-session", {"Sec-Fetch-Site": site})
            assert (response.status, "token" in text, visitor.cookie) == (403, False, "")
        for method, path in (("GET", f"/{name}"), ("GET", "/log"), ("GET", "/../log"), ("POST", "/"), ("POST", "/x")):
            assert visitor.ask(method, path)[0].status == 404
        for cookie in ('chat="a\\015\\012X-Injected: 1"', "chat=<b>", "chat=", "nochat=a"):
            visitor.cookie = cookie
            response, text = visitor.ask("POST", "/chat-session")
            assert (response.status, response.headers["X-Injected"]) == (502, None)
            assert wrong not in text
    log = (tmp_path / "log").read_text()
    assert "401" in log and wrong not in log


@pytest.mark.parametrize("name", site_files.SERVERS)
def test_a_server_without_the_key_says_what_is_missing(name: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(Api().call("GET", f"/console/site/{name}?agent=a", None, {}).text, encoding="utf-8")
    ran = subprocess.run(
        [*COMMANDS[name], str(tmp_path / name)], env={"PATH": os.environ["PATH"]}, capture_output=True, check=False
    )
    assert (ran.returncode, ran.stderr.decode().strip()) == (1, "Set AGENT_KEY to the agent key from the console.")


def test_a_file_has_the_agents_address_and_fits_no_other_id() -> None:
    host = {"Host": 'cams.test"; evil', "X-Forwarded-Proto": "https"}
    for name in site_files.SERVERS:
        text = Api().call("GET", f"/console/site/{name}?agent=a@b%7Cc", None, host).text
        assert r'"https://cams.test\"; evil/agents/a%40b%7Cc"' in text and "$AGENT" not in text
        assert r'"https://cams.test\"; evil/v2/agents/a%40b%7Cc"' in text and "$RECORD" not in text
        for query in ("", "?agent=", "?agent=a%22b", f"?agent={'a' * 129}"):
            assert Api().call("GET", f"/console/site/{name}{query}", None, {}).status == 404
    for name in ("server.py.txt", "console.css"):
        assert Api().call("GET", f"/console/site/{name}?agent=a", None, {}).status == 404


@pytest.mark.parametrize("command", [("format", "--check"), ("check",)])
def test_the_python_server_has_the_style_of_the_other_examples(command: tuple[str, ...]) -> None:
    text = (Path(site_files.__file__).parent.parent / "site/server.py.txt").read_text(encoding="utf-8")
    ruff = [sys.executable, "-m", "ruff", *command, "--no-cache", "--stdin-filename", "examples/server.py", "-"]
    ran = subprocess.run(ruff, input=text.encode(), cwd=ROOT, capture_output=True, check=False)
    assert ran.returncode == 0, ran.stdout.decode()
