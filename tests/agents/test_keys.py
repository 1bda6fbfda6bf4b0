"""Agent keys (the member `SECRET_API_KEY`) in both forms (§5)."""

from collections.abc import Callable

import pytest

from chalicelib import storage
from chalicelib.agents import store as agents
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.http import auth
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.assertions import stored
from tests.conftest import PassTime
from tests.credentials.access_tokens import DAY, YEAR, agent_key, credential_item, issue, status_with
from tests.engine_requests import counted
from tests.selection import each_value_once, first_case


def v2_write(api: Api, key: str | None) -> Answer:
    return api.post("/v2/agents/support", {"SECRET_API_KEY": key})


def v3_write(api: Api, key: str | None) -> Answer:
    return api.patch("/v3/agents/support", {"agent": {"SECRET_API_KEY": key}})


Write = Callable[[Api, str | None], Answer]

either_form = pytest.mark.parametrize("write", [v2_write, v3_write], ids=["v2", "v3"])

EDGE = "/v2/agents/support"

# Customer-chosen keys: 32 characters, every character that a header can contain, and 512 characters.
OWN_KEYS = {"the shortest": "0" * 32, "all characters": "".join(map(chr, range(33, 127))), "the longest": "k9" * 256}
# Each key is tested once; the v2 and v3 forms alternate.
every_key = pytest.mark.parametrize(
    ("write", "brought"),
    [*zip([v2_write, v3_write] * 2, [tokens.new(tokens.AGENT), *OWN_KEYS.values()], strict=True)],
    ids=["a token", *OWN_KEYS],
)


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


def test_a_key_sent_with_a_new_agent_becomes_its_key(api: Api) -> None:
    brought = OWN_KEYS["all characters"]
    v2_write(api, brought)
    assert (agent_key(api), status_with(brought, EDGE)) == (brought, 200)
    api.post(EDGE, {"SECRET_API_KEY": None})
    auth.clear_cache()
    made = api.post("/v3/agents", {"agent": {"SECRET_API_KEY": brought}}).data
    assert status_with(brought, f"/v2/agents/{made['id']}") == 200


@every_key
def test_a_key_written_to_an_agent_becomes_its_key(api: Api, agent_id: str, write: Write, brought: str) -> None:
    assert write(api, brought).status == 200
    assert (agent_key(api), status_with(brought, EDGE)) == (brought, 200)


def test_an_own_key_opens_what_a_generated_key_opens(api: Api, workspace: NewWorkspace, agent_id: str) -> None:
    """Both keys get the same status on routes for this agent, for another agent and for other credentials."""
    api.post("/v2/agents/sales", {})
    generated, own = Api(agent_key(api)), Api("k" * 32)
    paths = ("/v2/agents/support", "/v2/agents/support/convos", "/v2/agents/sales", "/v3/agents/support", "/v2/clients")
    before = [(path, generated.get(path).status) for path in paths]
    v2_write(api, "k" * 32)
    assert [(path, own.get(path).status) for path in paths] == before
    assert [status for _, status in before] == [200, 200, 403, 403, 403]
    state = own.post("/agents/support/interact/ann/state", {"metadata": {"userName": "Ann"}})
    assert (state.status, "SECRET_API_KEY" in state.text) == (200, False)


@every_key
def test_a_replaced_key_works_for_a_day(
    api: Api, agent_id: str, pass_time: PassTime, write: Write, brought: str
) -> None:
    old, new = brought, "n" * 32
    write(api, old)
    write(api, new)
    pass_time(DAY - 1)
    during = [status_with(old, EDGE), status_with(new, EDGE)]
    pass_time(1)
    assert during == [200, 200]
    assert [status_with(old, EDGE), status_with(new, EDGE)] == [401, 200]


OTHER_TEXTS = {
    "empty": "",
    "31 characters": "k" * 31,
    "513 characters": "k" * 513,
    "a space": "k" * 40 + " k",
    "a line break": "k" * 40 + "\n",
    "not ASCII": "k" * 40 + "ö",
    "a mistyped token": "cams_agent_" + "a" * 49,
    "a token of another kind": tokens.new(tokens.WORKSPACE),
}
KEY_RULE = (
    "must be 32 to 512 visible ASCII characters without spaces; a key that begins with cams_ must be an agent key that "
    "the service has generated"
)


@first_case
@pytest.mark.parametrize("text", OTHER_TEXTS.values(), ids=OTHER_TEXTS)
def test_other_text_is_refused_by_rule(api: Api, agent_id: str, text: str) -> None:
    api.get("/v3/tokens")
    before = stored()
    tried = {
        "SECRET_API_KEY": [v2_write(api, text), api.post("/v2/agents/new", {"SECRET_API_KEY": text})],
        "agent.SECRET_API_KEY": [v3_write(api, text), api.post("/v3/agents", {"agent": {"SECRET_API_KEY": text}})],
    }
    for path, answers in tried.items():
        assert [(answer.status, answer.json["issues"]) for answer in answers] == [
            (400, [{"path": path, "message": KEY_RULE}])
        ] * len(answers)
    assert stored() == before
    assert status_with(text.strip(), EDGE) == 401


def test_a_text_of_an_earlier_version_can_be_sent_back(api: Api, workspace: NewWorkspace, agent_id: str) -> None:
    """Earlier versions accepted any text as a key. Such a key authenticates nothing, but a client may send it back."""
    store_without_credential(workspace, "hunter2")
    assert [write(api, "hunter2").status for write in (v2_write, v3_write)] == [200, 200]
    assert v2_write(api, "k" * 32).status == 200
    assert (status_with("hunter2", EDGE), status_with("k" * 32, EDGE)) == (401, 200)


def store_without_credential(workspace: NewWorkspace, key: str) -> None:
    """Store a key without a credential, as an earlier version did."""
    with storage.unit_of_work():
        row = agents.read(workspace.workspace_id, "support")
        row.seal({**row.open(), "SECRET_API_KEY": key})
        storage.put(row)


def v2_whole(api: Api, key: str | None) -> Answer:
    return api.post(EDGE, api.get(EDGE).json)


def v3_whole(api: Api, key: str | None) -> Answer:
    return api.patch("/v3/agents/support", {"agent": {**api.get("/v3/agents/support").data, "title": "New"}})


@pytest.mark.parametrize("write", [v2_write, v3_write, v2_whole, v3_whole])
def test_a_stored_key_without_credential_opens_the_agent_when_it_is_sent_again(
    api: Api, workspace: NewWorkspace, agent_id: str, pass_time: PassTime, write: Write
) -> None:
    own = "k" * 32
    store_without_credential(workspace, own)
    token = Api(issue(api)["token"])
    assert [v3_write(token, own).status, status_with(own, EDGE)] == [200, 401]
    assert [write(api, own).status, status_with(own, EDGE)] == [200, 200]
    assert "expires_at" not in credential_item(own)
    assert len(agents.list_keys(workspace.workspace_id, "support")) == 2  # the earlier key expires at once
    v2_write(api, "n" * 32)
    pass_time(DAY)
    assert [status_with(own, EDGE), status_with("n" * 32, EDGE)] == [401, 200]


@either_form
def test_a_stored_key_without_credential_may_be_taken(
    api: Api, workspace: NewWorkspace, agent_id: str, write: Write
) -> None:
    own = "k" * 32
    store_without_credential(workspace, own)
    api.post("/v2/agents/sales", {"SECRET_API_KEY": own})
    before = stored()
    assert write(api, own).json["code"] == "KEY_TAKEN"
    assert stored() == before
    assert api.post(EDGE, {"title": "New"}).status == 200


def test_only_a_body_with_the_stored_key_costs_a_read(api: Api, workspace: NewWorkspace, agent_id: str) -> None:
    key = agent_key(api)
    costs = []
    for body in ({"title": "a"}, {"title": "b", "SECRET_API_KEY": key}, {"SECRET_API_KEY": key}):
        with counted() as sent:
            assert api.post(EDGE, body).status == 200
        costs.append(dict(sent))
    assert costs == [{"GetItem": 1, "PutItem": 1}, {"GetItem": 2, "PutItem": 1}, {"GetItem": 2}]


def test_an_expired_key_can_be_taken_and_revives_nothing(
    api: Api, workspace: NewWorkspace, agent_id: str, other_workspace: NewWorkspace, pass_time: PassTime
) -> None:
    """DynamoDB deletes an expired row days later. Until then, another agent can replace the row."""
    own, theirs = "k" * 32, Api(other_workspace.workspace_key)
    v2_write(api, own)
    (old,) = [
        row for row in agents.list_keys(workspace.workspace_id, "support") if row.token_hash == tokens.fingerprint(own)
    ]
    visitor = Api(own).post("/agents/support/interact/ann/visitor-tokens", {"token": {}}).data["token"]
    v2_write(api, "n" * 32)
    assert theirs.post("/v2/agents/sales", {"SECRET_API_KEY": own}).json["code"] == "KEY_TAKEN"
    pass_time(DAY)
    assert theirs.post("/v2/agents/sales", {"SECRET_API_KEY": own}).status == 200
    assert [status_with(own, "/v2/agents/sales"), status_with(own, EDGE)] == [200, 403]
    assert v2_write(api, own).json["code"] == "KEY_TAKEN"
    listed = agents.list_keys(workspace.workspace_id, "support")
    assert [row.token_hash for row in listed] == [tokens.fingerprint("n" * 32)]
    assert Api(visitor).post("/agents/support/interact/ann/state", {}).status == 401
    with pytest.raises(storage.ConditionFailed), storage.unit_of_work():
        credentials.revoke(old)
    v2_write(api, None)
    assert status_with(own, "/v2/agents/sales") == 200


def test_the_owner_of_an_expired_key_can_return_to_it(api: Api, agent_id: str, pass_time: PassTime) -> None:
    own = "k" * 32
    v2_write(api, own)
    v2_write(api, "n" * 32)
    assert v2_write(api, own).json["code"] == "KEY_TAKEN"
    pass_time(DAY)
    assert v2_write(api, own).status == 200
    pass_time(DAY)
    assert [status_with(own, EDGE), status_with("n" * 32, EDGE)] == [200, 401]
    assert v2_write(api, None).status == 200
    auth.clear_cache()
    assert status_with(own, EDGE) == 401


def test_only_a_text_that_can_be_a_key_costs_a_read(api: Api, agent_id: str) -> None:
    api.get(EDGE)
    costs = {}
    for name, text in {**OTHER_TEXTS, **OWN_KEYS, "unknown token": tokens.new(tokens.AGENT)}.items():
        with counted() as sent:
            assert status_with(text.strip(), EDGE) == 401
        costs[name] = dict(sent)
    looked_up = {*OWN_KEYS, "a space at the end", "a line break", "unknown token", "a token of another kind"}
    assert costs == {name: {"GetItem": 1} if name in looked_up else {} for name in costs}


def test_no_key_has_the_hash_of_another_row(monkeypatch: pytest.MonkeyPatch) -> None:
    hashed: list[str] = []
    monkeypatch.setattr(tokens, "fingerprint", lambda text: hashed.append(text) or "hash")
    tokens.conversation_fingerprint("k" * 32, "ann")
    assert len(hashed) == 1
    assert [text for text in hashed if tokens.is_well_formed(text)] == []


@every_key
def test_null_revokes_the_key_at_once(api: Api, agent_id: str, write: Write, brought: str) -> None:
    key = brought
    write(api, key)
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


@pytest.mark.parametrize(
    ("owner", "path", "key"),
    [
        ("another agent", "/v2/agents/support", {}),
        ("another workspace's agent", "/v2/agents/new", {}),
        ("another workspace's agent", "/v2/agents/support", {"SECRET_API_KEY": "k" * 32}),
    ],
)
def test_another_agent_s_key_is_refused_and_changes_nothing(
    api: Api, agent_id: str, other_workspace: NewWorkspace, owner: str, path: str, key: dict[str, str]
) -> None:
    owning = api if owner == "another agent" else Api(other_workspace.workspace_key)
    owning.post("/v2/agents/sales", key)
    taken = agent_key(owning, "sales")
    before = stored()
    answer = api.post(path, {"title": "New", "SECRET_API_KEY": taken})
    assert (answer.status, answer.json["code"]) == (409, "KEY_TAKEN")
    assert stored() == before
    assert status_with(taken, "/v2/agents/sales") == 200


@each_value_once
@either_form
@pytest.mark.parametrize("key", [None, "k" * 32], ids=["cleared", "replaced"])
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
