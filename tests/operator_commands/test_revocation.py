"""Commands revoke credentials immediately, completely, and only after confirmation (§5)."""

import pytest

from chalicelib.credentials import tokens
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import stored
from tests.operator_commands.commands import run, status_of
from tests.operator_commands.existing import Credential
from tests.selection import first_case


@first_case
def test_a_revoked_credential_is_rejected_and_leaves_no_row(
    credential: Credential, other_workspace: NewWorkspace
) -> None:
    others = [Credential(noun, other_workspace) for noun in ("key", "token", "agent-key")]
    ran = run(credential.noun, "revoke", credential.id, *credential.workspace, "--yes")
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert credential.statuses(credential.token) == [401]
    assert [other.statuses(other.token) for other in others] == [[200]] * 3
    assert tokens.fingerprint(credential.token) not in repr(stored())


def test_revoking_an_agent_key_clears_the_member(api: Api, agent_id: str, workspace: NewWorkspace) -> None:
    run("agent-key", "revoke", agent_id, "--workspace", workspace.workspace_id, "--yes")
    assert "SECRET_API_KEY" not in api.get("/v3/agents/support").data


def test_revoking_an_agent_key_also_revokes_keys_in_their_overlap(workspace: NewWorkspace) -> None:
    credential = Credential("agent-key", workspace)
    issued = [credential.token, credential.rotate(), credential.rotate()]
    assert credential.statuses(*issued) == [200, 200, 200]
    run("agent-key", "revoke", "support", *credential.workspace, "--yes")
    assert credential.statuses(*issued) == [401, 401, 401]


def test_revoking_an_agent_key_leaves_other_agents_valid(api: Api, workspace: NewWorkspace) -> None:
    credential = Credential("agent-key", workspace)
    other = api.post("/v2/agents/sales", {}).data["SECRET_API_KEY"]
    run("agent-key", "revoke", "support", *credential.workspace, "--yes")
    assert status_of(other, "/v2/agents/sales") == 200


@pytest.mark.parametrize("answer", ["n\n", "\n", ""], ids=["no", "nothing", "no terminal"])
@first_case
def test_revoking_asks_for_confirmation_and_aborts_without_it(credential: Credential, answer: str) -> None:
    before = stored()
    ran = run(credential.noun, "revoke", credential.id, *credential.workspace, answer=answer)
    assert (ran.exit_code, "[y/N]" in ran.output, stored() == before) == (1, True, True)


@first_case
def test_revoking_continues_after_confirmation(credential: Credential) -> None:
    ran = run(credential.noun, "revoke", credential.id, *credential.workspace, answer="y\n")
    assert (ran.exit_code, credential.statuses(credential.token)) == (0, [401])
