"""The key of an agent, its member `SECRET_API_KEY`, through both forms (§5)."""

from collections.abc import Callable

import pytest

from chalicelib import storage
from chalicelib.agents import store as agents
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.http import auth
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.conftest import PassTime
from tests.credentials import DAY, YEAR, agent_key, credential_item, issue, status_with
from tests.evidence import stored
from tests.selection import each_value_once, one_of_each


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
    before = stored()["cams-credentials"]
    assert v2_write(api, text).status == 200
    assert (agent_key(api), stored()["cams-credentials"]) == (text, before)


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
    assert tokens.fingerprint(key) not in repr(stored())


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
    before = stored()
    answer = api.post(path, {"title": "New", "SECRET_API_KEY": taken})
    assert (answer.status, answer.json["code"]) == (409, "KEY_TAKEN")
    assert stored() == before
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
