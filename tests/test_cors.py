"""CORS: pages of other origins may call exactly the routes that accept an agent's key."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from app import app
from chalicelib.credentials import tokens
from chalicelib.http import auth
from tests.api import Api
from tests.selection import one_of_each

ROOT = Path(__file__).parent.parent
ORIGIN = "access-control-allow-origin"
OF_AGENTS = {path for path in app.routes if tokens.AGENT in auth.credentials_for(path)}


def test_only_routes_that_accept_an_agents_key_answer_a_preflight() -> None:
    with_cors = {path for path, methods in app.routes.items() if any(one.cors for one in methods.values())}
    assert with_cors == OF_AGENTS
    assert all(one.cors for path in OF_AGENTS for one in app.routes[path].values())


def test_a_page_of_any_origin_can_read_an_answer(api: Api, agent_id: str) -> None:
    headers = api.get("/v2/agents/support").headers
    assert headers[ORIGIN] == "*"
    assert headers["access-control-expose-headers"] == "ETag,Idempotency-Replayed,X-Request-Id"
    allowed = set(headers["access-control-allow-headers"].split(","))
    assert {"Authorization", "Content-Type", "If-Match", "If-None-Match", "Idempotency-Key"} <= allowed
    assert "access-control-allow-credentials" not in headers


@pytest.mark.parametrize(
    ("path", "status"),
    [("/v2/agents/unknown", 404), ("/v2/agents/support", 401), ("/v2/agents/b%20d", 400)],
    ids=["by the view", "by authentication", "by the path"],
)
@one_of_each(lambda: None)
def test_a_page_of_any_origin_can_read_an_error(api: Api, path: str, status: int) -> None:
    answer = (Api() if status == 401 else api).get(path)
    assert (answer.status, answer.headers[ORIGIN]) == (status, "*")


@one_of_each(lambda: None)
@pytest.mark.parametrize("path", ["/v3/agents", "/v2/clients", "/v2/orgs/acme", "/v3/agents/support"])
def test_other_routes_have_no_cors_headers(api: Api, path: str) -> None:
    assert ORIGIN not in api.get(path).headers
    assert ORIGIN not in Api().get(path).headers


@pytest.mark.parametrize(("origin", "allowed"), [("https://example.com", "https://example.com"), ("", None)])
def test_a_stage_configures_the_allowed_origin(origin: str, allowed: str | None) -> None:
    code = f"""
from tests.api import Api
answer = Api().get("/v2/agents/support")
print(answer.status, answer.headers.get("{ORIGIN}"))
"""
    environment = {**os.environ, "CAMS_CORS_ORIGIN": origin}
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True)
    assert ran.stdout.splitlines()[-1] == f"401 {allowed}", ran.stderr
