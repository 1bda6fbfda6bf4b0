"""Credentials over HTTP (§5): tokens, the workspace key, authorization of routes, and an agent's `SECRET_API_KEY`."""

from collections.abc import Callable
from typing import Any
from unittest.mock import ANY

import pytest
from chalice.app import Chalice, Response
from chalice.test import Client

from chalicelib import clock, ids, storage
from chalicelib.agents import store as agents
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.http import auth, envelope
from chalicelib.workspaces import store as workspaces
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.capacity import metered
from tests.conftest import PassTime
from tests.requests import counted, refuse_operation
from tests.selection import each_value_once, one_of_each
from tests.writes import before_each_commit

MINUTE, DAY = 60, 24 * 60 * 60
MONTH, YEAR = 30 * DAY, 365 * DAY


def items(table: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = storage.sdk_client("dynamodb").scan(TableName=table)["Items"]
    return sorted(found, key=repr)


def everything() -> dict[str, list[dict[str, Any]]]:
    return {table: items(table) for table in storage.sdk_client("dynamodb").list_tables()["TableNames"]}


def credential_item(token: str) -> dict[str, Any]:
    """The stored item of a token."""
    (found,) = [one for one in items("cams-credentials") if one["token_hash"]["S"] == tokens.fingerprint(token)]
    return found


def entry_item(token: str) -> dict[str, Any]:
    """The item that lists a token in its workspace."""
    (found,) = [
        one for one in items("cams-workspaces") if one.get("token_hash", {}).get("S") == tokens.fingerprint(token)
    ]
    return found


def issue(api: Api, **members: Any) -> dict[str, Any]:
    issued: dict[str, Any] = api.post("/v3/tokens", {"token": {"name": "ci", **members}}).data
    return issued


def agent_key(api: Api, agent_id: str = "support") -> str:
    key: str = api.get(f"/v3/agents/{agent_id}").data["SECRET_API_KEY"]
    return key


def status_with(token: str, path: str = "/v3/agents") -> int:
    return Api(token).get(path).status


# ---- POST /v3/tokens ------------------------------------------------------------------------------


def test_issuing_a_token_returns_its_description(api: Api, pass_time: PassTime) -> None:
    now = clock.seconds()
    issued = issue(api)
    assert tokens.kind(issued.pop("token")) == tokens.ACCESS
    assert len(issued.pop("id")) == 26
    assert issued == {
        "name": "ci",
        "readOnly": False,
        "createdAt": clock.iso(now),
        "expiresAt": clock.iso(now + MONTH),
        "lastUsedAt": None,
    }


def test_an_issued_token_opens_the_workspace(api: Api, agent_id: str) -> None:
    (agent,) = Api(issue(api)["token"]).get("/v3/agents").data
    assert agent["id"] == agent_id


def own_key(workspace: NewWorkspace) -> credentials.CredentialRow:
    (key,) = credentials.list_active(workspace.workspace_id, tokens.WORKSPACE)
    return key


def test_only_the_hash_of_a_token_is_stored(api: Api, workspace: NewWorkspace, pass_time: PassTime) -> None:
    issued = issue(api)
    now = str(clock.seconds())
    assert credential_item(issued["token"]) == {
        "token_hash": {"S": tokens.fingerprint(issued["token"])},
        "workspace": {"S": workspace.workspace_id},
        "credential_id": {"S": issued["id"]},
        "kind": {"S": "access"},
        "name": {"S": "ci"},
        "read_only": {"BOOL": False},
        "created_at": {"N": now},
        "lifetime": {"N": str(MONTH)},
        "expires_at": {"N": str(int(now) + MONTH)},
        "changed_by": {"S": f"workspace#{own_key(workspace).credential_id}#first key"},
    }


def test_no_table_contains_an_issued_secret(api: Api, workspace: NewWorkspace, agent_id: str) -> None:
    secrets = [*workspace[1:], issue(api)["token"], api.post("/v3/workspace/key/rotate").data["key"], agent_key(api)]
    stored = repr(everything())
    assert [secret for secret in secrets if secret[-40:] in stored] == []


@pytest.mark.parametrize("seconds", [MINUTE, YEAR])
def test_a_token_expires_after_the_requested_time(api: Api, pass_time: PassTime, seconds: int) -> None:
    token = issue(api, expiresInSeconds=seconds)["token"]
    pass_time(seconds - 1)
    before = status_with(token)
    pass_time(1)
    assert (before, status_with(token)) == (200, 401)


def test_both_rows_of_a_token_expire_by_ttl(api: Api, pass_time: PassTime) -> None:
    token = issue(api, expiresInSeconds=60)["token"]
    end = {"N": str(clock.seconds() + 60)}
    assert (credential_item(token)["expires_at"], entry_item(token)["expires_at"]) == (end, end)


@pytest.mark.parametrize("table", ["cams-credentials", "cams-workspaces"])
def test_ttl_uses_the_attribute_that_is_written(engine: None, table: str) -> None:
    described = storage.sdk_client("dynamodb").describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    assert described == {"AttributeName": "expires_at", "TimeToLiveStatus": "ENABLED"}


@one_of_each(lambda path: path)
@pytest.mark.parametrize(
    ("body", "path"),
    [
        pytest.param({}, "token", id="no token"),
        pytest.param({"token": {}}, "token.name", id="no name"),
        pytest.param({"token": {"name": ""}}, "token.name", id="empty name"),
        pytest.param({"token": {"name": "n" * 201}}, "token.name", id="long name"),
        pytest.param({"token": {"name": "n", "expiresInSeconds": 59}}, "token.expiresInSeconds", id="too short"),
        pytest.param({"token": {"name": "n", "expiresInSeconds": YEAR + 1}}, "token.expiresInSeconds", id="too long"),
        pytest.param({"token": {"name": "n", "expiresInSeconds": "60"}}, "token.expiresInSeconds", id="text"),
        pytest.param({"token": {"name": "n", "expiresInSeconds": 1.5}}, "token.expiresInSeconds", id="fraction"),
        pytest.param({"token": {"name": "n", "readOnly": 1}}, "token.readOnly", id="number for a flag"),
        pytest.param({"token": {"name": "n", "kind": "workspace"}}, "token.kind", id="unknown member"),
    ],
)
def test_an_invalid_token_request_is_refused_and_stores_nothing(api: Api, body: Any, path: str) -> None:
    api.get("/v3/tokens")
    before = everything()
    answer = api.post("/v3/tokens", body)
    assert (answer.status, answer.json["issues"][0]["path"]) == (400, path)
    assert everything() == before


# ---- GET and DELETE /v3/tokens --------------------------------------------------------------------


def test_the_list_has_the_active_access_tokens_of_the_workspace_oldest_first(
    api: Api, other_workspace: NewWorkspace, pass_time: PassTime
) -> None:
    pass_time(1)
    issue(api, name="short", expiresInSeconds=MINUTE)
    pass_time(1)
    issue(api, name="long")
    issue(Api(other_workspace.workspace_key), name="theirs")
    pass_time(MINUTE)
    assert [one["name"] for one in api.get("/v3/tokens").data] == ["first token", "long"]


def test_the_list_shows_all_members_but_the_secret_token(api: Api) -> None:
    issued = issue(api, readOnly=True)
    del issued["token"]
    assert api.get("/v3/tokens").data[-1] == issued


def test_a_revoked_token_is_refused_and_its_rows_are_deleted(api: Api) -> None:
    api.get("/v3/tokens")
    before = {**everything(), "cams-history": ANY}
    issued = issue(api)
    answer = api.delete(f"/v3/tokens/{issued['id']}")
    assert answer.json == {"success": True, "message": "Token deleted successfully"}
    assert status_with(issued["token"]) == 401
    assert everything() == before


@pytest.mark.parametrize("whose", ["unknown", "another workspace's", "a workspace key's"])
@one_of_each(lambda: None)
def test_only_access_tokens_of_the_workspace_can_be_revoked(
    api: Api, workspace: NewWorkspace, other_workspace: NewWorkspace, whose: str
) -> None:
    token_id = {
        "unknown": ids.new_id(),
        "another workspace's": issue(Api(other_workspace.workspace_key))["id"],
        "a workspace key's": credential_item(workspace.workspace_key)["credential_id"]["S"],
    }[whose]
    before = len(items("cams-credentials"))
    answer = api.delete(f"/v3/tokens/{token_id}")
    assert (answer.status, answer.json["code"]) == (404, "NOT_FOUND")
    assert len(items("cams-credentials")) == before


# ---- POST /v3/workspace/key/rotate ----------------------------------------------------------------


def test_a_rotation_returns_the_new_key_and_the_end_of_the_old_one(api: Api, pass_time: PassTime) -> None:
    now = clock.seconds()
    rotated = api.post("/v3/workspace/key/rotate").data
    assert tokens.kind(rotated.pop("key")) == tokens.WORKSPACE
    assert len(rotated.pop("id")) == 26
    assert rotated == {
        "createdAt": clock.iso(now),
        "expiresAt": clock.iso(now + YEAR),
        "previousKeyExpiresAt": clock.iso(now + DAY),
    }


@pytest.mark.parametrize(
    ("body", "overlap"),
    [
        pytest.param(None, DAY, id="a day by default"),
        pytest.param({"overlapSeconds": None}, DAY, id="null"),
        pytest.param({"overlapSeconds": 90}, 90, id="custom overlap"),
        pytest.param({"overlapSeconds": 90.0}, 90, id="an integral float"),
    ],
)
@one_of_each(lambda: None)
def test_both_keys_work_during_the_overlap_and_only_the_new_one_afterwards(
    api: Api, workspace: NewWorkspace, pass_time: PassTime, body: Any, overlap: int
) -> None:
    new = api.post("/v3/workspace/key/rotate", body).data["key"]
    pass_time(overlap - 1)
    during = [status_with(workspace.workspace_key), status_with(new)]
    pass_time(1)
    assert during == [200, 200]
    assert [status_with(workspace.workspace_key), status_with(new)] == [401, 200]


def test_without_an_overlap_the_old_key_expires_at_once(api: Api, workspace: NewWorkspace, pass_time: PassTime) -> None:
    new = api.post("/v3/workspace/key/rotate", {"overlapSeconds": 0}).data["key"]
    pass_time(auth.CACHE_SECONDS)
    assert [status_with(workspace.workspace_key), status_with(new)] == [401, 200]


def test_a_rotation_stores_hashes_and_both_expiry_times(api: Api, workspace: NewWorkspace, pass_time: PassTime) -> None:
    now = clock.seconds()
    new = api.post("/v3/workspace/key/rotate", {"overlapSeconds": 90}).data["key"]
    ends = [credential_item(token)["expires_at"]["N"] for token in (workspace.workspace_key, new)]
    listed = [entry_item(token)["expires_at"]["N"] for token in (workspace.workspace_key, new)]
    assert ends == listed == [str(now + 90), str(now + YEAR)]


def test_an_overlap_does_not_extend_the_lifetime_of_a_key(engine: None, pass_time: PassTime) -> None:
    now = clock.seconds()
    api = Api(workspaces.create("Test").workspace_key)
    pass_time(YEAR - 60)
    rotated = api.post("/v3/workspace/key/rotate").data
    assert rotated["previousKeyExpiresAt"] == clock.iso(now + YEAR)


def test_a_repeated_rotation_with_the_old_key_issues_a_key_with_full_lifetime(api: Api, pass_time: PassTime) -> None:
    api.post("/v3/workspace/key/rotate")
    repeated = api.post("/v3/workspace/key/rotate").data
    assert repeated["expiresAt"] == clock.iso(clock.seconds() + YEAR)


def test_a_rotation_does_not_restore_a_concurrently_revoked_key(
    workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clock, "sleep", lambda _: None)
    key = credentials.find_active(tokens.fingerprint(workspace.workspace_key))
    assert key
    credentials.revoke(key)
    before = everything()
    with pytest.raises(storage.ConditionFailed):
        credentials.rotate(key)
    assert everything() == before


def test_a_rotation_does_not_lengthen_the_overlap_of_one_that_overtakes_it(
    workspace: NewWorkspace, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a leak the old key ends at once, although another rotation has just read it without an end."""
    api, overtaking = Api(workspace.workspace_key), iter([{"overlapSeconds": 0}])
    assert api.get("/v3/agents").status == 200
    with monkeypatch.context() as patch:
        before_each_commit(patch, lambda: [api.post("/v3/workspace/key/rotate", body).data for body in overtaking])
        api.post("/v3/workspace/key/rotate")
    assert credential_item(workspace.workspace_key)["expires_at"]["N"] == str(clock.seconds())
    pass_time(auth.CACHE_SECONDS)
    assert status_with(workspace.workspace_key) == 401


@one_of_each(lambda: None)
@pytest.mark.parametrize("overlap", [-1, YEAR + 1, "60", 1.5], ids=str)
def test_an_invalid_overlap_is_refused_and_the_key_is_unchanged(api: Api, overlap: Any) -> None:
    api.get("/v3/tokens")
    before = everything()
    answer = api.post("/v3/workspace/key/rotate", {"overlapSeconds": overlap})
    assert (answer.status, answer.json["issues"][0]["path"]) == (400, "overlapSeconds")
    assert everything() == before


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
    """Recording its use may take long, and it may be revoked during that time."""
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
    before = items("cams-credentials")
    token, living = issue(api)["token"], credentials.find_active

    def revoked_once_read(token_hash: str) -> credentials.CredentialRow | None:
        if row := living(token_hash):
            credentials.revoke(row)
        return row

    monkeypatch.setattr(credentials, "find_active", revoked_once_read)
    assert status_with(token) == 200
    assert items("cams-credentials") == before


# ---- authorization (tests/test_isolation.py covers all routes) ------------------------------------


def test_an_agent_key_is_refused_on_another_agent_s_encoded_id(api: Api, agent_id: str) -> None:
    api.post("/v2/agents/sales", {})
    assert status_with(agent_key(api), "/v2/agents/%73ales") == 403


def test_an_agent_key_is_accepted_on_its_agent_s_encoded_id(api: Api, agent_id: str) -> None:
    assert status_with(agent_key(api), "/v2/agents/%73upport") == 200


@one_of_each(lambda: None)
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


# ---- SECRET_API_KEY -------------------------------------------------------------------------------


def v2_write(api: Api, key: str | None) -> Answer:
    return api.post("/v2/agents/support", {"SECRET_API_KEY": key})


def v3_write(api: Api, key: str | None) -> Answer:
    return api.patch("/v3/agents/support", {"agent": {"SECRET_API_KEY": key}})


Write = Callable[[Api, str | None], Answer]
either_form = pytest.mark.parametrize("write", [v2_write, v3_write], ids=["v2", "v3"])
EDGE = "/v2/agents/support"


@pytest.mark.parametrize("form", ["v2", "v3"])
def test_a_new_agent_gets_a_working_key(api: Api, form: str) -> None:
    if form == "v2":
        agent_id, key = "support", api.post("/v2/agents/support", {}).data["SECRET_API_KEY"]
    else:
        created = api.post("/v3/agents", {"agent": {}}).data
        agent_id, key = created["id"], created["SECRET_API_KEY"]
    assert status_with(key, f"/v2/agents/{agent_id}") == 200


def test_an_agent_s_key_does_not_expire(api: Api, agent_id: str, pass_time: PassTime) -> None:
    key = agent_key(api)
    assert "expires_at" not in credential_item(key)
    pass_time(20 * YEAR)
    assert status_with(key, EDGE) == 200


def test_a_well_formed_token_sent_with_a_new_agent_becomes_its_key(api: Api) -> None:
    brought = tokens.new(tokens.AGENT)
    v2_write(api, brought)
    assert (agent_key(api), status_with(brought, EDGE)) == (brought, 200)


@either_form
def test_a_well_formed_token_written_to_an_agent_becomes_its_key(api: Api, agent_id: str, write: Write) -> None:
    brought = tokens.new(tokens.AGENT)
    assert write(api, brought).status == 200
    assert (agent_key(api), status_with(brought, EDGE)) == (brought, 200)


@either_form
def test_a_replaced_key_works_for_a_day(api: Api, agent_id: str, pass_time: PassTime, write: Write) -> None:
    old, new = agent_key(api), tokens.new(tokens.AGENT)
    write(api, new)
    pass_time(DAY - 1)
    during = [status_with(old, EDGE), status_with(new, EDGE)]
    pass_time(1)
    assert during == [200, 200]
    assert [status_with(old, EDGE), status_with(new, EDGE)] == [401, 200]


OTHER_TEXTS = {
    "any text": "hunter2",
    "empty": "",
    "a mistyped token": "cams_agent_" + "a" * 49,
    "a token of another kind": tokens.new(tokens.WORKSPACE),
}


@one_of_each(lambda: None)
@pytest.mark.parametrize("text", OTHER_TEXTS.values(), ids=OTHER_TEXTS)
def test_other_text_is_stored_but_does_not_authenticate(api: Api, agent_id: str, text: str) -> None:
    assert v2_write(api, text).status == 200
    assert (agent_key(api), status_with(text, EDGE)) == (text, 401)


@one_of_each(lambda: None)
@pytest.mark.parametrize("text", OTHER_TEXTS.values(), ids=OTHER_TEXTS)
def test_an_agent_created_with_other_text_has_no_key(api: Api, text: str) -> None:
    api.get("/v3/tokens")
    before = items("cams-credentials")
    assert v2_write(api, text).status == 200
    assert (agent_key(api), items("cams-credentials")) == (text, before)


def test_a_key_replaced_by_other_text_works_for_a_day(api: Api, agent_id: str, pass_time: PassTime) -> None:
    old = agent_key(api)
    v2_write(api, "hunter2")
    pass_time(DAY - 1)
    during = status_with(old, EDGE)
    pass_time(1)
    assert (during, status_with(old, EDGE)) == (200, 401)


@either_form
def test_null_revokes_the_key_at_once(api: Api, agent_id: str, write: Write) -> None:
    key = agent_key(api)
    assert write(api, None).status == 200
    assert "SECRET_API_KEY" not in api.get("/v3/agents/support").data
    assert status_with(key, EDGE) == 401
    assert tokens.fingerprint(key) not in repr(everything())


@either_form
def test_saving_an_unchanged_record_does_not_change_the_key(
    api: Api, agent_id: str, pass_time: PassTime, write: Write
) -> None:
    key = agent_key(api)
    write(api, key)
    assert "expires_at" not in credential_item(key)


def test_replacing_a_key_does_not_count_as_its_use(api: Api, agent_id: str) -> None:
    old = agent_key(api)
    v2_write(api, tokens.new(tokens.AGENT))
    assert "last_used_at" not in credential_item(old)


@each_value_once
@pytest.mark.parametrize("owner", ["another agent", "another workspace's agent"])
@pytest.mark.parametrize("path", ["/v2/agents/support", "/v2/agents/new"], ids=["change", "creation"])
def test_another_agent_s_token_is_refused_and_changes_nothing(
    api: Api, agent_id: str, other_workspace: NewWorkspace, owner: str, path: str
) -> None:
    owning = api if owner == "another agent" else Api(other_workspace.workspace_key)
    owning.post("/v2/agents/sales", {})
    taken = agent_key(owning, "sales")
    before = everything()
    answer = api.post(path, {"title": "New", "SECRET_API_KEY": taken})
    assert (answer.status, answer.json["code"]) == (409, "KEY_TAKEN")
    assert everything() == before
    assert status_with(taken, "/v2/agents/sales") == 200


@each_value_once
@either_form
@pytest.mark.parametrize("key", [None, "hunter2"], ids=["cleared", "replaced"])
def test_an_agent_cannot_revoke_a_key_that_another_agent_has_taken_over(
    api: Api, workspace: NewWorkspace, agent_id: str, other_workspace: NewWorkspace, write: Write, key: str | None
) -> None:
    shared = agent_key(api)
    held = credentials.list_active(workspace.workspace_id, tokens.AGENT)
    credentials.revoke(next(row for row in held if row.token_hash == tokens.fingerprint(shared)))
    theirs = Api(other_workspace.workspace_key)
    theirs.post("/v2/agents/sales", {"SECRET_API_KEY": shared})
    assert write(api, key).status == 200
    assert "expires_at" not in credential_item(shared)
    assert status_with(shared, "/v2/agents/sales") == 200


def test_two_concurrent_writers_of_a_key_leave_one_permanent_key(
    api: Api, workspace: NewWorkspace, agent_id: str
) -> None:
    first, second = agents.read(workspace.workspace_id, "support"), agents.read(workspace.workspace_id, "support")
    before = first.open()
    winner, loser = tokens.new(tokens.AGENT), tokens.new(tokens.AGENT)
    with storage.unit_of_work():
        agents.save(first, before, {**before, "SECRET_API_KEY": winner})
    with pytest.raises(storage.ConditionFailed), storage.unit_of_work():
        agents.save(second, before, {**before, "SECRET_API_KEY": loser})
    assert [status_with(winner, EDGE), status_with(loser, EDGE)] == [200, 401]


@pytest.mark.parametrize("path", ["/v3/agents/support", "/v3/agents"])
def test_a_read_only_token_cannot_read_an_agent_key(api: Api, agent_id: str, path: str) -> None:
    shown = Api(issue(api, readOnly=True)["token"]).get(path)
    assert shown.status == 200
    assert "SECRET_API_KEY" not in shown.text
    assert "SECRET_API_KEY" in api.get(path).text


def test_clearing_the_key_revokes_keys_in_their_overlap(api: Api, agent_id: str) -> None:
    first = api.get("/v2/agents/support").json["SECRET_API_KEY"]
    api.post("/v2/agents/support", {"SECRET_API_KEY": tokens.new(tokens.AGENT)})
    api.post("/v2/agents/support", {"SECRET_API_KEY": None})
    auth.clear_cache()
    assert Api(first).get("/v2/agents/support").status == 401


def test_the_error_for_a_key_in_use_names_the_member(api: Api, agent_id: str) -> None:
    copied = api.get("/v2/agents/support").json
    answer = api.post("/v2/agents/copy", copied)
    assert (answer.status, answer.json["message"].split()[0]) == (409, "SECRET_API_KEY")
    assert api.get("/v2/agents/copy").status == 404


def test_the_pages_of_the_token_list_contain_every_token_once(api: Api, workspace: NewWorkspace) -> None:
    names = ["first token", *(issue(api, name=f"n{number}")["name"] for number in range(6))]
    found, cursor = [], ""
    while cursor is not None:
        answer = api.get(f"/v3/tokens?limit=2&cursor={cursor}")
        found += [token["name"] for token in answer.data]
        cursor = answer.json.get("nextCursor")
    assert found == names


def test_the_token_list_does_not_read_the_keys_of_agents(api: Api) -> None:
    for number in range(5):
        api.post(f"/v2/agents/a{number}", {})
    with metered() as meter:
        api.get("/v3/tokens")
    assert meter.reads <= 2
