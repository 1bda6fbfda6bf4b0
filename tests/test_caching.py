"""No browser and no proxy stores a response that may contain a secret: every route, JSON, CSV, pages and errors."""

import pytest

from app import app
from chalicelib.extensions.console import rendering, sessions
from chalicelib.http import caching
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.extensions.console.rows import ALL, OPERATOR, ROWS, Route, build
from tests.extensions.console.rows import requests as requests_of
from tests.extensions.console.rows import send as send_page
from tests.moto_tables import restore, snapshot
from tests.operations import GUARDED, populate, send

# What a public response declares about its storage.
PUBLIC = {
    "/": "no-store",
    "/openapi.json": "no-cache",
    "/docs": "no-cache",
    "/docs/{asset}": "max-age=86400",
    "/console/assets/{name}": "public, max-age=31536000, immutable",
}
ALSO = ({}, {"Accept": "text/csv"}, {"Authorization": "Bearer nobody"})


def stored_as(answer: Answer) -> str | None:
    return answer.headers.get("cache-control")


@pytest.fixture
def console_api(workspace: NewWorkspace, api: Api) -> Api:
    """Two agents, as the console's records have them."""
    for agent in ("support", "other"):
        api.post(f"/v2/agents/{agent}", {})
    api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": ["support"]})
    return api


def test_each_route_is_in_one_of_these_tests() -> None:
    tested = {tuple(one.split()) for one in GUARDED} | {*ROWS} | {("GET", path) for path in PUBLIC}
    assert {(method, path) for path, views in app.routes.items() for method in views} == tested
    assert PUBLIC.keys() == caching.STORABLE_ROUTES


def test_no_response_of_the_api_may_be_stored(api: Api) -> None:
    ids = populate(api._headers, "one", dict.fromkeys(("agent_id", "user_id", "client_id", "org_id"), "one"))
    before, wrong, statuses = snapshot(), [], set()
    for name in GUARDED:
        for headers in ALSO:
            answer = send(name, {**api._headers, **headers}, ids)
            statuses.add(answer.status)
            if stored_as(answer) != "no-store":
                wrong.append((name, answer.status, stored_as(answer)))
            restore(before)
    assert not wrong
    assert statuses >= {200, 401}


def test_no_page_of_the_console_may_be_stored(workspace: NewWorkspace, console_api: Api) -> None:
    world = build(workspace, console_api)
    owners = {who: world.browser("" if who == OPERATOR else "ada@acme.test") for who in (OPERATOR, "")}
    bodies: dict[Route, bytes | None] = {}
    for who, owner in owners.items():
        bodies |= {
            at: body for at, body in requests_of(world, owner).items() if (ROWS[at].who == OPERATOR) == bool(who)
        }
    before, wrong = snapshot(), []
    for at, row in ROWS.items():
        for cookie in (owners[OPERATOR if row.who == OPERATOR else ""].cookie, ""):
            answer = send_page(world, at, bodies[at], cookie)
            if stored_as(answer) != "no-store":
                wrong.append((at, answer.status, stored_as(answer)))
            restore(before)
            sessions.clear_cache()
    assert not wrong
    assert ALL in {row.who for row in ROWS.values()}


def test_public_responses_keep_what_they_declare(engine: None) -> None:
    (style,) = (rendering.hashed(file, text) for file, text in rendering.assets().items() if file.suffix == ".css")
    known = {"/docs/{asset}": "/docs/page.css", "/console/assets/{name}": f"/console/assets/{style}"}
    assert {path: stored_as(Api().get(known.get(path, path))) for path in PUBLIC} == PUBLIC
    assert stored_as(Api().get("/docs/unknown")) == stored_as(Api().get("/console/assets/unknown")) == "no-store"


def test_errors_of_the_framework_may_not_be_stored(api: Api) -> None:
    wrong_type = api.call("POST", "/v2/agents/one", b"x", {**api._headers, "Content-Type": "text/plain"})
    wrong_method = api.delete("/v2/clients")
    assert (wrong_type.status, wrong_method.status) == (415, 405)
    assert stored_as(wrong_type) == stored_as(wrong_method) == "no-store"


def test_a_known_tag_is_still_answered_without_a_body(api: Api, agent_id: str) -> None:
    path = f"/v3/agents/{agent_id}"
    tag = api.get(path).headers["etag"]
    again = api.call("GET", path, None, {**api._headers, "If-None-Match": tag})
    assert (again.status, again.text, again.headers["etag"], stored_as(again)) == (304, "", tag, "no-store")


def test_a_password_is_not_stored_with_the_client(workspace: NewWorkspace, api: Api) -> None:
    api.post("/v2/clients/bo", {"email": "bo@acme.test", "dashboardPassword": PASSWORD})
    answer = api.get("/v2/clients/bo")
    assert (answer.data["dashboardPassword"], stored_as(answer)) == (PASSWORD, "no-store")
    assert stored_as(Browser(workspace.workspace_id).sign_in("bo@acme.test", PASSWORD)) == "no-store"
