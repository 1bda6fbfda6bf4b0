"""The access token routes: issuing, listing and revoking tokens (§5)."""

from typing import Any
from unittest.mock import ANY

import pytest

from chalicelib import clock, extensions, ids, storage
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import stored
from tests.capacity import metered
from tests.conftest import PassTime
from tests.credentials.access_tokens import (
    MINUTE,
    MONTH,
    YEAR,
    agent_key,
    credential_item,
    entry_item,
    issue,
    status_with,
)
from tests.listed_pages import follow_cursors
from tests.selection import first_case, one_of_each

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
    text = repr(stored())
    assert [secret for secret in secrets if secret[-40:] in text] == []


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
    before = stored()
    answer = api.post("/v3/tokens", body)
    assert (answer.status, answer.json["issues"][0]["path"]) == (400, path)
    assert stored() == before


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
    before = {**stored(), **{storage.table("history"): ANY for _ in extensions.hooks("stage_deletion")}}
    issued = issue(api)
    answer = api.delete(f"/v3/tokens/{issued['id']}")
    assert answer.json == {"success": True, "message": "Token deleted successfully"}
    assert status_with(issued["token"]) == 401
    assert stored() == before


@pytest.mark.parametrize("whose", ["unknown", "another workspace's", "a workspace key's"])
@first_case
def test_only_access_tokens_of_the_workspace_can_be_revoked(
    api: Api, workspace: NewWorkspace, other_workspace: NewWorkspace, whose: str
) -> None:
    token_id = {
        "unknown": ids.new_id(),
        "another workspace's": issue(Api(other_workspace.workspace_key))["id"],
        "a workspace key's": credential_item(workspace.workspace_key)["credential_id"]["S"],
    }[whose]
    before = len(stored()["cams-credentials"])
    answer = api.delete(f"/v3/tokens/{token_id}")
    assert (answer.status, answer.json["code"]) == (404, "NOT_FOUND")
    assert len(stored()["cams-credentials"]) == before


def test_the_pages_of_the_token_list_contain_every_token_once(api: Api, workspace: NewWorkspace) -> None:
    names = ["first token", *(issue(api, name=f"n{number}")["name"] for number in range(6))]
    answers = follow_cursors(api, "/v3/tokens?limit=2")
    assert [token["name"] for answer in answers for token in answer.data] == names


def test_the_token_list_does_not_read_the_keys_of_agents(api: Api) -> None:
    for number in range(5):
        api.post(f"/v2/agents/a{number}", {})
    with metered() as meter:
        api.get("/v3/tokens")
    assert meter.reads <= 2
