"""Rotating the workspace key over HTTP, and the overlap during which both keys work (§5)."""

from typing import Any

import pytest

from chalicelib import clock, storage
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.http import auth
from chalicelib.workspaces import store as workspaces
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import stored
from tests.conftest import PassTime
from tests.credentials.access_tokens import DAY, YEAR, credential_item, entry_item, status_with
from tests.direct_writes import before_each_commit
from tests.selection import first_case


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
@first_case
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
    before = stored()
    with pytest.raises(storage.ConditionFailed):
        credentials.rotate(key)
    assert stored() == before


def test_a_rotation_does_not_lengthen_the_overlap_of_one_that_overtakes_it(
    workspace: NewWorkspace, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a leak, the old key expires at once, although another rotation has just read the key without an expiry."""
    api, overtaking = Api(workspace.workspace_key), iter([{"overlapSeconds": 0}])
    assert api.get("/v3/agents").status == 200
    with monkeypatch.context() as patch:
        before_each_commit(patch, lambda: [api.post("/v3/workspace/key/rotate", body).data for body in overtaking])
        api.post("/v3/workspace/key/rotate")
    assert credential_item(workspace.workspace_key)["expires_at"]["N"] == str(clock.seconds())
    pass_time(auth.CACHE_SECONDS)
    assert status_with(workspace.workspace_key) == 401


@first_case
@pytest.mark.parametrize("overlap", [-1, YEAR + 1, "60", 1.5], ids=str)
def test_an_invalid_overlap_is_refused_and_the_key_is_unchanged(api: Api, overlap: Any) -> None:
    api.get("/v3/tokens")
    before = stored()
    answer = api.post("/v3/workspace/key/rotate", {"overlapSeconds": overlap})
    assert (answer.status, answer.json["issues"][0]["path"]) == (400, "overlapSeconds")
    assert stored() == before
