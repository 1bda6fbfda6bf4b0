"""CORS: a page on another origin may not call the service unless the stage allows that origin to use agent keys.

The visitor token routes accept preflight requests from any page. `test_visitors` tests which pages may read the
responses.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from chalice.app import CORSConfig

from app import app
from chalicelib.http import cors
from tests.api import Api

ROOT = Path(__file__).parents[2]
ORIGIN = "access-control-allow-origin"


def run(code: str, **settings: str) -> list[str]:
    """Run code in a new process, because importing `app` registers the routes; return the printed lines."""
    environment = {name: value for name, value in os.environ.items() if name != "CAMS_CORS_ORIGIN"} | settings
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout.splitlines()


def test_by_default_only_the_routes_of_visitor_tokens_have_cors() -> None:
    code = """
from app import app
from chalicelib.http import auth
found = {path for path, methods in app.routes.items() if any(one.cors for one in methods.values())}
print(found == auth.VISITOR_ROUTES)
"""
    assert run(code) == run(code, CAMS_CORS_ORIGIN="") == ["True"]


def test_no_answer_has_cors_headers_by_default(api: Api) -> None:
    for path in (re.sub("{.*?}", "support", path) for path in app.routes):
        assert ORIGIN not in api.get(path).headers, path
        assert ORIGIN not in Api().get(path).headers, path


@pytest.mark.parametrize("origin", ["https://example.com", "*"])
def test_with_an_origin_only_routes_that_accept_an_agents_key_answer_a_preflight(origin: str) -> None:
    code = """
from app import app
from chalicelib.credentials import tokens
from chalicelib.http import auth
of_agents = {path for path in app.routes if tokens.AGENT in auth.credentials_for(path)}
with_cors = {path for path, methods in app.routes.items() if any(one.cors for one in methods.values())}
print(with_cors == of_agents, all(one.cors for path in of_agents for one in app.routes[path].values()))
print({one.cors.allow_origin for path in of_agents - auth.VISITOR_ROUTES for one in app.routes[path].values()})
"""
    assert run(code, CAMS_CORS_ORIGIN=origin) == ["True True", f"{{{origin!r}}}"]


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v2/agents/support", 200),
        ("/v2/agents/unknown", 404),
        ("/v2/agents/support", 401),
        ("/v2/agents/b%20d", 400),
    ],
    ids=["an answer", "an error of the view", "an error of authentication", "an error of the path"],
)
def test_a_page_of_the_allowed_origin_can_read(
    api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch, path: str, status: int
) -> None:
    allowing = CORSConfig("https://example.com")
    monkeypatch.setattr(cors, "CORS", allowing)
    monkeypatch.setattr(app.routes["/v2/agents/{agent_id}"]["GET"], "cors", allowing)
    answer = (Api() if status == 401 else api).get(path)
    assert (answer.status, answer.headers[ORIGIN]) == (status, "https://example.com")


def test_an_allowed_page_sends_and_reads_the_headers_of_the_edge_routes() -> None:
    code = """
from tests.api import Api
headers = Api().get("/v2/agents/support").headers
print(headers["access-control-expose-headers"], headers["access-control-allow-headers"])
print("access-control-allow-credentials" in headers)
"""
    *_, names, credentials = run(code, CAMS_CORS_ORIGIN="https://example.com")
    exposed, allowed = names.split(" ")
    assert exposed == "ETag,Idempotency-Replayed,Retry-After,X-Request-Id"
    assert {"Authorization", "Content-Type", "If-Match", "If-None-Match", "Idempotency-Key"} <= set(allowed.split(","))
    assert credentials == "False"
