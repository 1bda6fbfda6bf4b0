"""Browsers and proxies do not store console pages. They store assets for a year, and browsers also people's photos."""

import pytest

from app import app
from chalicelib.extensions.console.access import sessions
from chalicelib.extensions.console.presentation import rendering
from chalicelib.http import auth, caching
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.extensions.console.rows import ALL, OPERATOR, ROWS, Route, build, requests, send
from tests.http.test_caching import stored_as
from tests.moto_tables import restore, snapshot

ASSET, PHOTO = "/console/assets/{name}", "/console/{workspace}/photos/{client_id}"


@pytest.fixture
def console_api(workspace: NewWorkspace, api: Api) -> Api:
    """Create the two agents that the console's records need."""
    for agent in ("support", "other"):
        api.post(f"/v2/agents/{agent}", {})
    api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": ["support"]})
    return api


def test_each_route_of_the_console_is_in_these_tests() -> None:
    served = {(method, path) for path, views in app.routes.items() for method in views if path.startswith("/console")}
    assert served == ROWS.keys()
    assert {ASSET, PHOTO} == caching.STORABLE_ROUTES - auth.OPEN_ROUTES


def test_no_page_of_the_console_may_be_stored(workspace: NewWorkspace, console_api: Api) -> None:
    world = build(workspace, console_api)
    owners = {who: world.browser("" if who == OPERATOR else "ada@acme.test") for who in (OPERATOR, "")}
    bodies: dict[Route, bytes | None] = {}
    for who, owner in owners.items():
        bodies |= {at: body for at, body in requests(world, owner).items() if (ROWS[at].who == OPERATOR) == bool(who)}
    before, wrong = snapshot(), []
    for at, row in ROWS.items():
        for cookie in (owners[OPERATOR if row.who == OPERATOR else ""].cookie, ""):
            answer = send(world, at, bodies[at], cookie)
            is_photo = (at[1], answer.status) == (PHOTO, 200)
            if stored_as(answer) != ("private, max-age=31536000, immutable" if is_photo else "no-store"):
                wrong.append((at, answer.status, stored_as(answer)))
            restore(before)
            sessions.clear_cache()
    assert not wrong
    assert ALL in {row.who for row in ROWS.values()}


def test_an_asset_may_be_stored_for_a_year(engine: None) -> None:
    (style,) = (rendering.hashed_name(file, text) for file, text in rendering.assets().items() if file.suffix == ".css")
    assert stored_as(Api().get(f"/console/assets/{style}")) == "public, max-age=31536000, immutable"
    assert stored_as(Api().get("/console/assets/unknown")) == "no-store"


def test_a_password_is_not_stored_with_the_sign_in(workspace: NewWorkspace, api: Api) -> None:
    api.post("/v2/clients/bo", {"email": "bo@acme.test", "dashboardPassword": PASSWORD})
    assert stored_as(Browser(workspace.workspace_id).sign_in("bo@acme.test", PASSWORD)) == "no-store"
