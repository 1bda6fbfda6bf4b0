"""Authentication: rejected credentials, the cache, the time of last use, and routes that need no credentials (§5).

`test_isolation.py` covers authorization for all routes.
"""

from typing import Any

import pytest
from chalice.app import Chalice, Response
from chalice.test import Client

from chalicelib import clock
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.http import auth, envelope
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import stored
from tests.conftest import PassTime
from tests.credentials.access_tokens import MINUTE, agent_key, credential_item, issue, status_with
from tests.engine_requests import counted, refuse_operation
from tests.selection import first_case

# ---- authentication -------------------------------------------------------------------------------


REFUSED = ("malformed", "mistyped", "unknown", "the webhook secret", "expired", "revoked", "another scheme", "none")


@pytest.mark.parametrize("what", REFUSED)
def test_every_failed_authentication_gets_the_same_answer(
    api: Api, workspace: NewWorkspace, pass_time: PassTime, what: str
) -> None:
    expired, revoked = issue(api, expiresInSeconds=MINUTE), issue(api)
    api.delete(f"/v3/tokens/{revoked['id']}")
    pass_time(MINUTE)
    mistyped = workspace.workspace_key[:-1] + ("a" if workspace.workspace_key[-1] != "a" else "b")
    header = {
        "malformed": "Bearer nonsense",
        "mistyped": f"Bearer {mistyped}",
        "unknown": f"Bearer {tokens.new(tokens.WORKSPACE)}",
        "the webhook secret": f"Bearer {workspace.workspace_secret}",
        "expired": f"Bearer {expired['token']}",
        "revoked": f"Bearer {revoked['token']}",
        "another scheme": f"Basic {workspace.workspace_key}",
        "none": "",
    }[what]
    answer = Api().call("GET", "/v3/agents", headers={"Authorization": header})
    assert (answer.status, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert answer.json == {
        "success": False,
        "message": "A valid bearer token is required.",
        "code": "UNAUTHORIZED",
    }


@pytest.mark.parametrize("token", ["nonsense", "cams_workspace_" + "a" * 49], ids=["malformed", "mistyped"])
def test_a_malformed_token_costs_no_request(engine: None, token: str) -> None:
    with counted() as sent:
        Api(token).get("/v3/agents")
    assert sent == {}


@pytest.mark.parametrize("scheme", ["bearer", "BEARER", "Bearer "])
def test_the_authentication_scheme_is_case_insensitive(workspace: NewWorkspace, scheme: str) -> None:
    answer = Api().call("GET", "/v3/agents", headers={"authorization": f"{scheme} {workspace.workspace_key}"})
    assert answer.status == 200


def test_a_credential_is_cached_for_thirty_seconds(api: Api, pass_time: PassTime) -> None:
    api.get("/v3/agents")
    costs = []
    for seconds in (0, 29, 1):
        pass_time(seconds)
        with counted() as sent:
            api.get("/v3/agents")
        costs.append(dict(sent))
    assert costs == [{"Query": 1}, {"Query": 1}, {"GetItem": 1, "Query": 1}]


def test_the_cache_time_starts_at_the_look_up_of_the_credential(
    api: Api, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Recording the use may take a long time, and the credential may be revoked in the meantime."""
    made = issue(api)
    note = credentials._record_use

    def revoke_concurrently(row: Any) -> None:
        note(row)
        if row.credential_id == made["id"]:
            pass_time(8)
            credentials.revoke(row)

    monkeypatch.setattr(credentials, "_record_use", revoke_concurrently)
    statuses = [status_with(made["token"])]
    for seconds in (21, 1):
        pass_time(seconds)
        statuses.append(status_with(made["token"]))
    assert statuses == [200, 200, 401]


def test_a_credential_is_not_cached_beyond_its_expiry(api: Api, pass_time: PassTime) -> None:
    token = issue(api, expiresInSeconds=MINUTE)["token"]
    pass_time(MINUTE - 1)
    before = status_with(token)
    pass_time(1)
    assert (before, status_with(token)) == (200, 401)


def test_the_number_of_cached_credentials_is_limited(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(auth, "_CACHE_SIZE", 3)
    for _ in range(5):
        assert status_with(issue(api)["token"]) == 200
        assert len(auth._cache) <= 3


def test_the_last_use_of_a_token_is_written_every_ten_minutes_at_most(api: Api, pass_time: PassTime) -> None:
    token, start = issue(api)["token"], clock.seconds()
    recorded = []
    for seconds in (0, 10 * MINUTE - 1, 1):
        pass_time(seconds)
        auth.clear_cache()
        with counted() as sent:
            status_with(token)
        recorded.append((sent["UpdateItem"], credential_item(token)["last_used_at"]["N"]))
    assert recorded == [(1, str(start)), (0, str(start)), (1, str(start + 10 * MINUTE))]


def test_the_list_shows_when_a_token_was_last_used(api: Api, pass_time: PassTime) -> None:
    token = issue(api)["token"]
    pass_time(MINUTE)
    status_with(token)
    assert api.get("/v3/tokens").data[-1]["lastUsedAt"] == clock.iso(clock.seconds())


@pytest.mark.parametrize(
    "code", ["ConditionalCheckFailedException", "InternalServerError"], ids=["revoked concurrently", "unavailable"]
)
def test_a_request_succeeds_if_the_last_use_cannot_be_written(api: Api, code: str) -> None:
    with refuse_operation("UpdateItem", code):
        assert api.get("/v3/agents").status == 200


def test_the_last_use_of_a_concurrently_revoked_token_is_not_written(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.get("/v3/tokens")
    before = stored()["cams-credentials"]
    token, living = issue(api)["token"], credentials.find_active

    def revoked_once_read(token_hash: str) -> credentials.CredentialRow | None:
        if row := living(token_hash):
            credentials.revoke(row)
        return row

    monkeypatch.setattr(credentials, "find_active", revoked_once_read)
    assert status_with(token) == 200
    assert stored()["cams-credentials"] == before


# ---- authorization (tests/test_isolation.py covers all routes) ------------------------------------


def test_an_agent_key_is_refused_on_another_agent_s_encoded_id(api: Api, agent_id: str) -> None:
    api.post("/v2/agents/sales", {})
    assert status_with(agent_key(api), "/v2/agents/%73ales") == 403


def test_an_agent_key_is_accepted_on_its_agent_s_encoded_id(api: Api, agent_id: str) -> None:
    assert status_with(agent_key(api), "/v2/agents/%73upport") == 200


@first_case
@pytest.mark.parametrize("path", ["/admin", "/v3", "/v4/agents", "/internal/{agent_id}", "/v2/organisations"])
def test_an_unlisted_route_is_closed_to_every_credential(
    api: Api, workspace: NewWorkspace, agent_id: str, path: str
) -> None:
    new = Chalice("new")
    for middleware in (envelope.envelope, auth.authenticate):
        new.register_middleware(middleware, "http")
    new.route(path)(lambda **_: Response("opened"))
    statuses = []
    with Client(new) as client:
        for token in (workspace.workspace_key, workspace.access_token, agent_key(api)):
            response = client.http.get(path.format(agent_id=agent_id), headers={"Authorization": f"Bearer {token}"})
            statuses.append(response.status_code)
    assert statuses == [403, 403, 403]
