"""Commands that rotate credentials and the data key, their overlap, and the properties that they keep (§5)."""

import pytest

from chalicelib import clock, storage
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.conftest import PassTime
from tests.operator_commands.commands import DAY, EDGE, run, run_json, status_of
from tests.operator_commands.existing import Credential
from tests.selection import first_case

# ---- credentials ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "overlap"), [([], DAY), (["--overlap", "90"], 90), (["--overlap", "2h"], 7200)], ids=str
)
@first_case
def test_both_credentials_work_during_the_overlap_then_only_the_new_one(
    credential: Credential, pass_time: PassTime, options: list[str], overlap: int
) -> None:
    new = credential.rotate(*options)
    pass_time(overlap - 1)
    during = credential.statuses(credential.token, new)
    pass_time(1)
    assert during == [200, 200]
    assert credential.statuses(credential.token, new) == [401, 200]


@first_case
def test_a_rotation_without_overlap_revokes_the_old_one_at_once(credential: Credential) -> None:
    new = credential.rotate("--overlap", "0")
    assert credential.statuses(credential.token, new) == [401, 200]


def test_a_successor_has_the_rights_of_the_old_one(workspace: NewWorkspace) -> None:
    whose = ["--workspace", workspace.workspace_id]
    issued = run_json("token", "issue", *whose, "--name", "ci", "--read-only", "--expires-in", "7d")
    rotated = run_json("token", "rotate", issued["token_id"], *whose)
    assert (rotated["read_only"], rotated["name"]) == (True, "ci")
    assert Api(rotated["access_token"]).post("/v3/agents", {"agent": {}}).status == 403


def test_a_rotation_prints_both_expiry_times(workspace: NewWorkspace, pass_time: PassTime) -> None:
    whose = ["--workspace", workspace.workspace_id]
    issued = run_json("token", "issue", *whose, "--name", "ci", "--expires-in", "7d")
    rotated = run_json("token", "rotate", issued["token_id"], *whose, "--overlap", "1h")
    now = clock.seconds()
    ends = (rotated["expires_at"], rotated["previous_expires_at"])
    assert ends == (clock.iso(now + 7 * DAY), clock.iso(now + 3600))


@pytest.mark.parametrize(("lifetime", "seconds"), [("7d", 7 * DAY), ("never", None)])
def test_a_repeated_rotation_gives_the_new_credential_its_full_lifetime(
    workspace: NewWorkspace, pass_time: PassTime, lifetime: str, seconds: int | None
) -> None:
    whose = ["--workspace", workspace.workspace_id]
    key_id = run_json("key", "issue", *whose, "--name", "ci", "--expires-in", lifetime)["key_id"]
    run_json("key", "rotate", key_id, *whose)
    end = seconds and clock.iso(clock.seconds() + seconds)
    assert run_json("key", "rotate", key_id, *whose)["expires_at"] == end


def test_a_rotation_changes_only_the_key_in_the_agent_record(api: Api, agent_id: str, workspace: NewWorkspace) -> None:
    before = api.get("/v3/agents/support").data
    made = run_json("agent-key", "rotate", agent_id, "--workspace", workspace.workspace_id)
    after = api.get("/v3/agents/support").data
    assert made == {"agent_id": "support", "agent_key": after["SECRET_API_KEY"]}
    changing = {"SECRET_API_KEY": None, "lastModified": None}
    assert {**after, **changing} == {**before, **changing}


def test_rotating_a_key_that_the_caller_chose_generates_one(api: Api, workspace: NewWorkspace) -> None:
    api.post(EDGE, {"SECRET_API_KEY": "hunter2" * 5})
    made = run_json("agent-key", "rotate", "support", "--workspace", workspace.workspace_id)
    assert made["agent_key"].startswith("cams_agent_")
    assert [status_of(key, EDGE) for key in (made["agent_key"], "hunter2" * 5)] == [200, 200]


# ---- the data key ---------------------------------------------------------------------------------


def documents(table: str) -> list[bytes]:
    """Return a table's encrypted documents."""
    found = storage.sdk_client("dynamodb").scan(TableName=table)["Items"]
    return [item["document"]["B"] for item in found if "document" in item]


def test_after_a_data_key_rotation_new_documents_use_the_new_key_and_old_ones_stay_readable(
    api: Api, agent_id: str
) -> None:
    (old,) = documents("cams-agents")
    assert run("data-key", "rotate").exit_code == 0
    api.post("/v2/agents/new", {})
    (new,) = set(documents("cams-agents")) - {old}
    assert new[1:5] != old[1:5]
    assert api.get("/v3/agents/support").data["title"] == "Support"
