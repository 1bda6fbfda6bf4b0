"""Least privilege (§5): access token scopes, `SECRET_API_KEY` writes, and warnings about access that outlives a token.

`test_secret_members` tests which secrets each credential can read.
"""

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from app import app
from chalicelib import storage
from chalicelib.credentials import scopes, tokens
from chalicelib.credentials import store as credentials
from chalicelib.http import auth
from chalicelib.workspaces import store as workspaces
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.assertions import refused, stored
from tests.builders import webhook_body
from tests.engines import new_engine
from tests.guarantees import CaseCounter
from tests.moto_tables import items, restore, snapshot
from tests.operations import ROUTES, populate, scope_of, send
from tests.selection import one_of_each

AGENT = "/v3/agents/support"
KEY = "SECRET_API_KEY"
FOR_TOKENS = [name for name, one in ROUTES.items() if one["credential"] == "v3"]


def issue(api: Api, *granted: str, **members: Any) -> Any:
    rights = {"scopes": [*granted]} if granted else {}
    return api.post("/v3/tokens", {"token": {"name": "ci", **rights, **members}}).data


def holder(api: Api, *granted: str, **members: Any) -> Api:
    return Api(issue(api, *granted, **members)["token"])


# ---- operations that scopes permit ---------------------------------------------------------------------------


class Stage:
    """A workspace with one record of every kind, and a token for each scope."""

    def __init__(self) -> None:
        key = workspaces.create("Scopes").workspace_key
        own = {"Authorization": f"Bearer {key}"}
        self.ids = populate(own, "scopes", dict.fromkeys(("agent_id", "client_id", "org_id", "user_id"), "same"))
        issued = {one: issue(Api(key), one)["token"] for one in scopes.ALL}
        self.headers = {one: {"Authorization": f"Bearer {token}"} for one, token in issued.items()}
        for headers in self.headers.values():
            Api().call("GET", "/v3/agents", headers=headers)  # the first use of a credential is written
        self.tables = snapshot()


@pytest.fixture(scope="module")
def stage() -> Iterator[Stage]:
    with new_engine():
        yield Stage()


@pytest.mark.guarantee("isolated")
@one_of_each(scope_of)
@pytest.mark.parametrize("name", FOR_TOKENS)
def test_a_scope_opens_exactly_its_operations(stage: Stage, count_cases: CaseCounter, name: str) -> None:
    needed, before = scope_of(name), items()
    opens = {needed, needed.replace(":read", ":write")}
    for scope in stage.headers.keys() - opens:
        answer = send(name, stage.headers[scope], stage.ids)
        refused(answer, 403)
        assert answer.json["message"] == f"The access token lacks the scope {needed}."
    assert items() == before
    for scope in opens & stage.headers.keys():
        assert send(name, stage.headers[scope], stage.ids).status == 200, scope
        restore(stage.tables)
    count_cases(states=len(stage.headers))


def test_the_scopes_are_the_resources_that_access_tokens_open() -> None:
    tags = {
        route.view_function.operation.tag
        for path, methods in app.routes.items()
        for route in methods.values()
        if tokens.ACCESS in auth.credentials_for(path)
    }
    assert set(scopes.ALL) == {f"{tag}:{action}" for tag in tags for action in ("read", "write")}


def test_a_view_without_a_declaration_opens_to_no_scope(
    api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    reader = holder(api, "agents:read")
    monkeypatch.delattr(app.routes["/v3/agents/{agent_id}"]["GET"].view_function, "operation")
    assert reader.get(AGENT).status == 500
    assert api.get(AGENT).status == 200


def test_the_middleware_asks_for_the_scope_before_the_path_is_read(api: Api) -> None:
    refused(holder(api, "leads:read").get("/v3/tools/%FF"), 403)


# ---- issuing and showing scopes ---------------------------------------------------------------------


def test_scopes_are_shown_by_the_answer_and_the_list(api: Api) -> None:
    made = issue(api, "tools:write", "agents:read", "tools:write")
    assert (made["scopes"], made["readOnly"]) == (["agents:read", "tools:write"], False)
    listed = {one["id"]: one for one in api.get("/v3/tokens").data}
    assert listed[made["id"]]["scopes"] == ["agents:read", "tools:write"]


@pytest.mark.parametrize(
    ("members", "expected"),
    [
        ({"readOnly": True}, (sorted(scopes.READ), True)),
        ({"scopes": ["leads:read"]}, (["leads:read"], True)),
        ({"scopes": ["leads:read"], "readOnly": False}, (["leads:read"], True)),
        ({}, (None, False)),
        ({"readOnly": False, "scopes": None}, (None, False)),
    ],
)
def test_read_only_stands_for_all_read_scopes(api: Api, members: dict[str, Any], expected: Any) -> None:
    made = issue(api, **members)
    assert (made.get("scopes"), made["readOnly"]) == expected


@pytest.mark.parametrize(
    ("members", "path", "rule"),
    [
        ({"scopes": ["agents:read", "agents:admin"]}, "token.scopes.1", "must be 'agents:read', "),
        ({"scopes": [""]}, "token.scopes.0", "must be 'agents:read', "),
        ({"scopes": []}, "token.scopes", "must have at least 1 item"),
        ({"scopes": "agents:read"}, "token.scopes", "must be an array"),
        ({"scopes": ["agents:read"], "readOnly": True}, "token.readOnly", "must be left out with scopes"),
    ],
)
def test_invalid_scopes_are_refused_by_name(api: Api, members: dict[str, Any], path: str, rule: str) -> None:
    answer = api.post("/v3/tokens", {"token": {"name": "ci", **members}})
    assert refused(answer, 400, path).startswith(f"{path} {rule}")
    assert "admin" not in answer.text


@pytest.mark.parametrize("rights", [{"scopes": ["leads:write"]}, {"readOnly": True}, {}])
def test_a_rotated_token_keeps_its_scopes(api: Api, workspace: NewWorkspace, rights: dict[str, Any]) -> None:
    made = issue(api, **rights)
    row = credentials.read(workspace.workspace_id, made["id"], tokens.ACCESS)
    successor = credentials.rotate(row).credential
    listed = {one["id"]: one for one in api.get("/v3/tokens").data}
    assert listed[successor.credential_id].get("scopes") == made.get("scopes")
    assert listed[successor.credential_id]["readOnly"] == made["readOnly"]


# ---- SECRET_API_KEY -------------------------------------------------------------------------------


def v2_write(api: Api, key: str | None) -> Answer:
    return api.post("/v2/agents/support", {KEY: key})


def v3_write(api: Api, key: str | None) -> Answer:
    return api.patch(AGENT, {"agent": {KEY: key}})


Write = Callable[[Api, str | None], Answer]


@pytest.mark.parametrize("key", [None, "hunter2" * 5, tokens.new(tokens.AGENT)], ids=["cleared", "own key", "key"])
@pytest.mark.parametrize(("kind", "write"), [("agent", v2_write), ("access", v3_write), ("scoped", v3_write)])
def test_only_the_workspace_key_changes_an_agent_key(
    api: Api, workspace: NewWorkspace, agent_id: str, kind: str, write: Write, key: str | None
) -> None:
    own = api.get(AGENT).data[KEY]
    callers = {
        "agent": Api(own),
        "access": Api(workspace.access_token),
        "scoped": holder(api, "agents:write"),
    }
    callers[kind].get("/v2/agents/support")  # the first use of a credential is written
    before = stored()
    answer = write(callers[kind], key)
    assert KEY in refused(answer, 403)
    assert (stored(), str(key) in answer.text) == (before, False)
    assert write(callers[kind], own).status == 200  # unchanged
    assert write(api, key).status == 200


def test_only_the_workspace_key_creates_an_agent_with_a_key(api: Api, workspace: NewWorkspace) -> None:
    body = {"agent": {KEY: tokens.new(tokens.AGENT)}}
    refused(Api(workspace.access_token).post("/v3/agents", body), 403)
    refused(holder(api, "agents:write").post("/v3/agents", body), 403)
    assert api.get("/v3/agents").data == []
    assert api.post("/v3/agents", body).status == 200


def test_an_agent_key_in_its_overlap_cannot_read_its_successor(api: Api, agent_id: str) -> None:
    old = Api(api.get(AGENT).data[KEY])
    new = tokens.new(tokens.AGENT)
    v3_write(api, new)
    answers = [
        old.get("/v2/agents/support"),
        old.post("/v2/agents/support", {"title": "Still here"}),
        old.post("/agents/support/interact/ann/state"),
    ]
    assert [answer.status for answer in answers] == [200, 200, 200]
    assert not [answer for answer in answers if KEY in answer.text]
    assert api.get(AGENT).data[KEY] == new


# ---- hidden members survive -----------------------------------------------------------------------


def test_what_a_token_read_can_be_sent_back_without_erasing_what_was_hidden(api: Api, agent_id: str) -> None:
    secret = {"chatappToken": "s1", "vectorDb": {"key": "s2"}, "flowtool": {"webhookUrl": "u", "webhookSecret": "s3"}}
    api.patch(AGENT, {"agent": {**secret, "voiceConfig": {"transcriber": {"apiKey": "s4", "provider": "p"}}}})
    fields = [{"key": "a", "in": "header", "value": "s5"}, {"key": "b", "defaultValue": "s6"}]
    tool = api.post(f"{AGENT}/tools", {"tool": {"name": "x", "serverUrlSecret": "s7", "fields": fields}}).data
    before, path = api.get(AGENT).data, f"/v3/tools/{tool['id']}"
    writer = holder(api, "agents:write", "tools:write")
    read, read_tool = writer.get(AGENT).data, writer.get(path).data
    assert not [one for one in range(1, 8) if f'"s{one}"' in json.dumps([read, read_tool])]
    assert writer.patch(AGENT, {"agent": read}).status == writer.patch(path, {"tool": read_tool}).status == 200
    assert api.get(AGENT).data == before


def test_a_token_writes_secrets_that_it_is_not_shown(api: Api, agent_id: str) -> None:
    fields = [{"id": "1", "key": "a", "value": "old"}, {"id": "2", "key": "b", "value": "old"}]
    tool = api.post(f"{AGENT}/tools", {"tool": {"name": "x", "fields": fields}}).data
    writer = holder(api, "agents:write", "tools:write")
    changed = writer.patch(AGENT, {"agent": {"chatappToken": "new"}})
    assert ("chatappToken" in changed.data, api.get(AGENT).data["chatappToken"]) == (False, "new")
    sent = [{"id": "2", "key": "c"}, {"id": "1", "key": "a", "value": "new"}, {"key": "d"}]
    answer = writer.patch(f"/v3/tools/{tool['id']}", {"tool": {"fields": sent}})
    assert "value" not in json.dumps(answer.data["fields"])
    kept = api.get(f"/v3/tools/{tool['id']}").data["fields"]
    assert [(one["key"], one.get("value")) for one in kept] == [("c", "old"), ("a", "new"), ("d", None)]


def test_the_workspace_key_replaces_the_fields_of_a_tool_as_a_whole(api: Api, agent_id: str) -> None:
    fields = [{"id": "1", "key": "a", "value": "old"}]
    tool = api.post(f"{AGENT}/tools", {"tool": {"name": "x", "fields": fields}}).data
    answer = api.patch(f"/v3/tools/{tool['id']}", {"tool": {"fields": [{"id": "1", "key": "a"}]}})
    assert answer.data["fields"] == [{"id": "1", "key": "a"}]


def test_a_token_is_not_shown_stored_members_that_are_not_declared(
    api: Api, workspace: NewWorkspace, agent_id: str
) -> None:
    from chalicelib.agents import store

    with storage.unit_of_work():
        row = store.read(workspace.workspace_id, agent_id)
        store.save(row, before := row.open(), {**before, "future": "s1", "flowtool": {"future": "s2"}})
    shown = holder(api, "agents:read").get(AGENT)
    assert ("future" in shown.text, "flowtool" in shown.data) == (False, True)
    assert api.get(AGENT).data["future"] == "s1"


# ---- warnings about access that outlives a token ---------------------------------------------------------

LASTING = "remains in effect after this access token expires"


def warned(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.text
    warnings = answer.json.get("warnings", [])
    assert all(one["message"] == LASTING for one in warnings)
    return [one["path"] for one in warnings]


@pytest.mark.parametrize("kind", ["workspace", "access", "scoped"])
def test_an_access_token_is_warned_of_what_outlives_it(api: Api, workspace: NewWorkspace, kind: str) -> None:
    callers = {"workspace": api, "access": Api(workspace.access_token), "scoped": holder(api, *scopes.ALL)}
    caller = callers[kind]
    webhook = f"/v3/webhooks/{api.post('/v3/webhooks', webhook_body()).data['id']}"
    warnings = {
        "agent": warned(caller.post("/v3/agents", {"agent": {}})),
        "client": warned(caller.post("/v3/clients", {"client": {"dashboardPassword": "correct horse"}})),
        "client without a password": warned(caller.post("/v3/clients", {"client": {"dashboardPassword": None}})),
        "webhook": warned(caller.post("/v3/webhooks", webhook_body())),
        "change": warned(caller.patch(webhook, {"webhook": {"enabled": False}})),
        "rotation": warned(caller.post(f"{webhook}/rotate")),
    }
    lasting = {
        "agent": ["agent.SECRET_API_KEY"],
        "client": ["client.dashboardPassword"],
        "client without a password": [],
        "webhook": ["webhook", "webhook.signingSecret"],
        "change": ["webhook"],
        "rotation": ["webhook.signingSecret"],
    }
    assert warnings == ({one: [] for one in lasting} if kind == "workspace" else lasting)
