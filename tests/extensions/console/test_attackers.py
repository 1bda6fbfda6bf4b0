"""Every console route rejects people who may not use it, even if they send a valid form.

`ROWS` contains a row for each route, so a new route without a row fails. Authorised requests verify the rows: each page
shows the canary in its records, and each form changes something.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlencode

import pytest

from app import app
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.extensions.console.access import session_store, sessions
from chalicelib.http import auth
from chalicelib.workspaces import store as workspaces
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.conftest import PassTime
from tests.extensions.console.browser import Browser
from tests.extensions.console.conftest import PASSWORD
from tests.extensions.console.rows import (
    ADMIN,
    ALL,
    CANARY,
    MAY,
    OPERATOR,
    OWN,
    PERSON,
    ROWS,
    UNSTORED,
    World,
    build,
    fields,
    requests,
    send,
    signed,
)
from tests.fast_moto import restore_or_create
from tests.moto_tables import items, restore, snapshot


@pytest.fixture
def world(workspace: NewWorkspace, workspace_api: Api) -> World:
    """Create two organisations; one organisation's records contain the canary."""
    return restore_or_create("records of the console", lambda: build(workspace, workspace_api))[0]


def test_each_route_of_the_console_has_a_row() -> None:
    routes = {(method, route) for route, methods in app.routes.items() for method in methods}
    assert {one for one in routes if one[1].startswith("/console")} == set(ROWS)


def test_who_may_use_a_route_sees_its_records_or_changes_something(world: World) -> None:
    wrong = []
    operator, ada = world.browser(""), world.browser("ada@acme.test")
    before = snapshot()
    for at, row in ROWS.items():
        owner = operator if row.who == OPERATOR else ada
        body = None if at[0] == "GET" else urlencode(fields(world, at[1], row, owner)).encode()
        began = items()
        answer = send(world, at, body, owner.cookie)
        is_right = CANARY in answer.text or not row.shows if body is None else items() != began or at in UNSTORED
        if answer.status >= 500 or not is_right:
            wrong.append((at, answer.status, answer.text[-900:]))
        if at[0] == "POST":
            restore(before)
            sessions.clear_cache()
    assert not wrong


# Other people, and the routes that they may use. They send a valid form that contains their own session's secret.
PEOPLE = {
    "a person of the organisation": ("pat@acme.test", PERSON),
    "an administrator": ("ada@acme.test", ADMIN),
    "a person without pages": ("shut@acme.test", OWN),
    "a person of another organisation": ("eve@acme.test", OWN),
    "an administrator of another": ("mal@acme.test", OWN),
    "an administrator of none": ("lone@acme.test", OWN),
    "an administrator of one that is gone": ("lost@acme.test", OWN),
}


@pytest.mark.parametrize(("email", "may"), PEOPLE.values(), ids=PEOPLE)
def test_nobody_else_sees_or_changes_anything(world: World, email: str, may: str) -> None:
    bodies, browser, wrong = requests(world, world.browser("")), world.browser(email), []
    for at, body in bodies.items():
        if ROWS[at].who in MAY.get(may, {ALL, OWN}):
            continue
        before = items()
        answer = send(world, at, body and signed(body, browser.cookie), browser.cookie)
        is_refused = answer.status in (403, 404) or (body is None and "{" not in at[1].replace("{workspace}", ""))
        if not is_refused or CANARY in answer.text or items() != before:
            wrong.append((at, answer.status))
    assert not wrong


def _other_workspace(world: World, pass_time: PassTime) -> str:
    other = workspaces.create("other")
    browser = Browser(other.workspace_id)
    browser.start_session(key=other.workspace_key)
    return browser.cookie


def _other_client(world: World, pass_time: PassTime) -> str:
    other = workspaces.create("other")
    api = Api(other.workspace_key)
    api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": ["support"], "canSelfEdit": True})
    members = {"orgId": "acme", "isOrgAdmin": True, "email": "ada@acme.test", "dashboardPassword": PASSWORD}
    api.post("/v2/clients/ada", members)
    browser = Browser(other.workspace_id)
    browser.start_session(email="ada@acme.test", password=PASSWORD)
    return browser.cookie


def _ended(email: str, end: Callable[[World, PassTime], Any]) -> Callable[[World, PassTime], str]:
    def run(world: World, pass_time: PassTime) -> str:
        cookie = world.browser(email).cookie
        end(world, pass_time)
        pass_time(auth.CACHE_SECONDS)
        return cookie

    return run


def _sign_out(world: World, pass_time: PassTime) -> str:
    browser = world.browser("ada@acme.test")
    cookie = browser.cookie
    browser.submit(browser.open("/overview"), "/sign-out", {})
    return cookie


def _revoke(world: World, _: PassTime) -> None:
    row = credentials.find_active(tokens.fingerprint(world.workspace.workspace_key))
    assert row is not None
    credentials.revoke(row)


def _suspend(world: World, _: PassTime) -> None:
    for entry in credentials.list_entries(world.workspace.workspace_id):
        credentials.suspend(entry)


def _rotate(world: World, pass_time: PassTime) -> None:
    row = credentials.find_active(tokens.fingerprint(world.workspace.workspace_key))
    assert row is not None
    credentials.rotate(row)
    pass_time(credentials.OVERLAP)


SESSIONS: dict[str, Callable[[World, PassTime], str]] = {
    "no session": lambda world, pass_time: "",
    "a made-up session": lambda world, pass_time: f"{sessions.COOKIE}=cams_session_{'0' * 49}",
    "a workspace key as session": lambda world, pass_time: f"{sessions.COOKIE}={world.workspace.workspace_key}",
    "an operator of another workspace": _other_workspace,
    "the same client of another workspace": _other_client,
    "an expired session": _ended("ada@acme.test", lambda world, pass_time: pass_time(session_store.LIFETIME)),
    "another password": _ended(
        "ada@acme.test", lambda world, _: world.api.post("/v2/clients/ada", {"dashboardPassword": "another one"})
    ),
    "a deleted client": _ended("ada@acme.test", lambda world, _: world.api.delete("/v2/clients/ada")),
    "a client who has signed out": _sign_out,
    "a revoked key": _ended("", _revoke),
    "a rotated key": _ended("", _rotate),
    "a client of a suspended workspace": _ended("ada@acme.test", _suspend),
    "an operator of a suspended workspace": _ended("", _suspend),
}


@pytest.mark.parametrize("begin", SESSIONS.values(), ids=SESSIONS)
def test_what_is_no_session_of_the_workspace_leads_to_the_sign_in(
    world: World, begin: Callable[[World, PassTime], str], pass_time: PassTime
) -> None:
    bodies = requests(world, world.browser(""))
    cookie, wrong = begin(world, pass_time), []
    for at, body in bodies.items():
        if ROWS[at].who == ALL:
            continue
        before = items()
        answer = send(world, at, body and signed(body, cookie), cookie)
        location, _, query = answer.headers.get("location", "").partition("?")
        found = answer.status, location, answer.text
        page = world.path(at[1]).removeprefix(location)
        returns = ("", *(urlencode({"next": one}) for one in (page, page + ROWS[at].query)))
        if found != (303, f"/console/{world.workspace.workspace_id}", "") or query not in returns or items() != before:
            wrong.append((at, answer.status))
    assert not wrong


FORGERIES: dict[str, tuple[Callable[[bytes, str], bytes], dict[str, str], set[int]]] = {
    "no secret": (lambda body, _: body.replace(b"form=", b"from="), {}, {403}),
    "the secret of somebody else": (signed, {}, {403}),
    "another site": (lambda body, _: body, {"Sec-Fetch-Site": "cross-site"}, {403}),
    "another host": (lambda body, _: body, {"Sec-Fetch-Site": "same-site"}, {403}),
    "no UTF-8": (lambda body, _: body + b"&x=%ff", {}, {400}),
    "bytes": (lambda body, _: body + b"&x=\xff", {}, {400}),
    "many fields": (lambda body, _: body + b"&x=" * 1_000, {}, {400}),
    "a large form": (lambda body, _: body + b"&x=" + b"x" * 2_000_000, {}, {413}),
    "JSON": (lambda body, _: body, {"Content-Type": "application/json"}, {415}),
    "plain text": (lambda body, _: body, {"Content-Type": "text/plain"}, {415}),
}


@pytest.mark.parametrize(("forge", "headers", "statuses"), FORGERIES.values(), ids=FORGERIES)
def test_a_forged_form_is_refused(
    world: World, forge: Callable[[bytes, str], bytes], headers: dict[str, str], statuses: set[int]
) -> None:
    operator, ada, wrong = world.browser(""), world.browser("ada@acme.test"), []
    bodies = requests(world, operator)
    for at, body in bodies.items():
        if body is None or ROWS[at].who == ALL:
            continue
        owner, other = (operator, ada) if ROWS[at].who in (ADMIN, OPERATOR) else (ada, operator)
        before, sent = items(), forge(signed(body, owner.cookie), other.cookie)
        answer = send(world, at, sent, owner.cookie, **headers)
        if answer.status not in statuses or items() != before:
            wrong.append((at, answer.status))
    assert not wrong


_HOME = "/console/{workspace}"
_KEY_VIEW = ("POST", f"{_HOME}/agents/{{agent_id}}/site")
_NEW_PASSWORD = ("POST", f"{_HOME}/account/password")


def _number(stored: dict[str, Any]) -> int:
    return sum(map(len, stored.values()))


def _count(world: World) -> list[int]:
    """Return the number of records of the kinds that a repeated form could add twice."""
    hook = world.ids["webhook_id"]
    lists = (
        "/v3/agents",
        "/v3/clients",
        "/v3/tokens",
        "/v3/webhooks",
        "/v3/agents/support/tools",
        f"/v3/webhooks/{hook}/deliveries",
        "/v3/agents/support/convos/ann/messages",
    )
    answers = [world.api.get(f"{path}?limit=100") for path in lists]
    return [len(answer.data) if answer.status == 200 else 0 for answer in answers]


def test_a_form_that_is_sent_twice_answers_the_same_and_does_nothing_more(world: World) -> None:
    wrong = []
    operator, ada = world.browser(""), world.browser("ada@acme.test")
    before = snapshot()
    for at, row in ROWS.items():
        if at[0] == "GET" or row.who == ALL:
            continue
        owner = operator if row.who in (ADMIN, OPERATOR) else ada
        body = urlencode(fields(world, at[1], row, owner)).encode()
        first = send(world, at, body, owner.cookie)
        stored_once, counted = items(), _count(world)
        second = send(world, at, body, owner.cookie)
        # A new password ends the session of the first request, so the second request leads to the sign-in page.
        expected = world.path(_HOME) if at == _NEW_PASSWORD else first.headers.get("location")
        is_same = (first.status, expected) == (second.status, second.headers.get("location"))
        # Each view of an agent's key is an entry in the audit log, and changes nothing else.
        is_done_once = _number(items()) == _number(stored_once) + 1 if at == _KEY_VIEW else items() == stored_once
        if not is_same or not is_done_once or _count(world) != counted:
            wrong.append((at, first.status, second.status))
        restore(before)
        sessions.clear_cache()
    assert not wrong


def test_a_form_that_is_changed_and_sent_again_is_another_request(world: World) -> None:
    ada = world.browser("ada@acme.test")
    page = ada.open("/settings/orgs/acme/new-client")
    for name in ("Ann", "Ben", "Ben"):
        assert (
            "Ann"
            in ada.submit(
                page, "/new-client", {"name": name, "email": f"{name}@acme.test", "dashboardPassword": PASSWORD}
            ).text
        )
    listed = world.api.get("/v3/orgs/acme/clients").data
    assert [one["name"] for one in listed if one.get("name") in ("Ann", "Ben")].count("Ben") == 1
