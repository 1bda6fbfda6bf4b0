"""Visitor tokens: the routes that accept them, the actions that revoke them, and requests from pages on other origins.

`test_isolation` sends every operation with a visitor token, and `test_secret_members` searches responses for secrets.
"""

from typing import Any

import pytest

from app import app
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.http import auth, cors
from chalicelib.workspaces import store as workspaces
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Answer, Api
from tests.assertions import refused, stored
from tests.builders import message, state_body
from tests.capacity import metered
from tests.conftest import PassTime
from tests.engine_requests import counted
from tests.moto_tables import items

STATE = "/agents/support/interact/ann/state"
MESSAGES = "/agents/support/interact/ann/messages"
EDGE = "/agents/support/interact/ann/visitor-tokens"
V3 = "/v3/agents/support/convos/ann/visitor-tokens"
DAY = 86_400


def issue(caller: Api, path: str = EDGE, **settings: Any) -> Any:
    return caller.post(path, {"token": settings}).data


def visitor(caller: Api, path: str = EDGE, **settings: Any) -> Api:
    return Api(issue(caller, path, **settings)["token"])


def texts(answer: Answer) -> list[str]:
    assert answer.status == 200, answer.text
    return [turn["messages"]["item"]["text"] for turn in answer.json["turns"]]


@pytest.fixture
def conversation(api: Api, agent_id: str) -> str:
    """Create a conversation of the agent with one message."""
    assert api.post(STATE, state_body("Hello")).status == 200
    return "ann"


# ---- issuing --------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", [EDGE, V3])
def test_a_token_is_shown_once_and_stored_as_a_hash(api: Api, conversation: str, path: str) -> None:
    made = issue(api, path)
    assert set(made) == {"token", "expiresAt", "createdAt"}
    assert tokens.kind(made["token"]) == tokens.VISITOR
    assert made["token"] not in repr(items())
    assert texts(Api(made["token"]).post(STATE)) == ["Hello"]


def test_a_stored_token_does_not_tell_whose_conversation_it_opens(api: Api, agent_id: str) -> None:
    issue(api, "/agents/support/interact/ann@example.com/visitor-tokens")
    assert "example.com" not in repr(items())


@pytest.mark.parametrize(
    ("settings", "seconds"), [({}, DAY), ({"expiresInSeconds": 60}, 60), ({"expiresInSeconds": 30 * DAY}, 30 * DAY)]
)
def test_a_token_expires(
    api: Api, conversation: str, pass_time: PassTime, settings: dict[str, Any], seconds: int
) -> None:
    holder = visitor(api, **settings)
    pass_time(seconds - 1)
    assert holder.post(STATE).status == 200
    pass_time(1)
    refused(holder.post(STATE), 401, interaction=True)


@pytest.mark.parametrize("seconds", [0, 59, 30 * DAY + 1, "60", 60.5])
def test_a_lifetime_is_bounded(api: Api, agent_id: str, seconds: Any) -> None:
    refused(api.post(EDGE, {"token": {"expiresInSeconds": seconds}}), 400, "token.expiresInSeconds")


def test_only_the_v3_route_needs_the_conversation(api: Api, agent_id: str) -> None:
    refused(api.post(V3, {"token": {}}), 404)
    assert texts(visitor(api).post(STATE)) == []


@pytest.mark.parametrize("path", [EDGE, V3])
def test_an_unknown_agent_has_no_tokens(api: Api, path: str) -> None:
    refused(api.post(path.replace("support", "unknown"), {"token": {}}), 404)


def test_any_number_of_tokens_adds_nothing_to_the_partition_of_the_workspace(api: Api, conversation: str) -> None:
    before = items()["cams-workspaces"]
    for _ in range(3):
        issue(api)
    assert items()["cams-workspaces"] == before


# ---- routes that accept a token -----------------------------------------------------------------------------------


def test_a_visitor_names_itself(api: Api, conversation: str) -> None:
    own = {"userName": "Ann", "userEmail": "ann@example.com", "userPhone": "+1 555 0100"}
    answer = visitor(api).post(STATE, {"metadata": own})
    assert answer.status == 200
    assert {name: api.post(STATE).json["chatState"][name] for name in own} == own
    assert visitor(api).post(STATE, {"metadata": {"userPhone": None}}).status == 200
    assert "userPhone" not in api.post(STATE).json["chatState"]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (state_body("forged", sender="bot"), "turns"),
        ({"turns": []}, "turns"),
        ({"delete": {"mids": []}}, "delete"),
        ({"metadata": {"state": "ended_chat"}}, "metadata.state"),
        ({"metadata": {"userName": "Ann", "tags": None}}, "metadata.tags"),
        ({"metadata": {"ID": "ann"}}, "metadata.ID"),
    ],
)
def test_a_visitor_changes_nothing_else(api: Api, conversation: str, body: Any, path: str) -> None:
    holder = visitor(api)
    holder.post(STATE)
    before = stored()
    assert path in refused(holder.post(STATE, body), 403, interaction=True)
    assert stored() == before


@pytest.mark.parametrize(
    "path",
    ["/agents/support/interact/bob/state", "/agents/other/interact/ann/state", EDGE, "/v2/agents/support", V3],
)
def test_a_visitor_opens_only_its_own_conversation(api: Api, conversation: str, path: str) -> None:
    api.post("/v2/agents/other", {"title": "Other"})
    assert visitor(api).post(path, {}).status == 403


def test_a_visitor_is_shown_no_secret_and_no_undeclared_member_of_the_agent(api: Api, agent_id: str) -> None:
    api.post("/v2/agents/support", {"chatappToken": "s1", "VF_PROJECT_API_KEY": "s2", "undeclared": "s3"})
    shown = visitor(api).post(STATE)
    assert shown.json["agentData"]["title"] == "Support"
    assert not [one for one in ("s1", "s2", "s3", "cams_agent") if f'"{one}' in shown.text]


def test_only_declared_routes_open_to_a_visitor() -> None:
    opened = {path for path in app.routes if tokens.VISITOR in auth.credentials_for(path)}
    assert opened == auth.VISITOR_ROUTES
    assert {method for path in opened for method in app.routes[path]} == {"GET", "POST"}


@pytest.mark.parametrize("sender", [{}, {"from": None}, {"from": "human"}])
def test_a_visitor_adds_messages_of_the_user(api: Api, conversation: str, sender: dict[str, Any]) -> None:
    holder = visitor(api)
    for _ in range(2):
        answer = holder.post(MESSAGES, {"messages": [message("And again", mid="m-1", **sender)]})
        assert [(one["mid"], one["from"]) for one in answer.data] == [("m-1", "human")]
    assert texts(holder.post(STATE)) == ["Hello", "And again"]
    state = api.post(STATE).json
    assert (state["chatState"]["interactionsNum"], {turn["from"] for turn in state["turns"]}) == (2, {"human"})


@pytest.mark.parametrize("sender", ["bot", "", "agent", "Human"])
def test_a_visitor_adds_no_message_of_another_sender(api: Api, conversation: str, sender: str) -> None:
    holder = visitor(api)
    holder.post(STATE)
    before = stored()
    body = {"messages": [message("Mine"), message("Forged", **{"from": sender})]}
    assert refused(holder.post(MESSAGES, body), 403).startswith("messages.1.from must be human")
    assert stored() == before


def test_the_first_message_of_a_visitor_creates_the_conversation(api: Api, agent_id: str) -> None:
    holder = visitor(api)
    assert holder.post(MESSAGES, {"messages": [message("Hello")]}).status == 200
    assert texts(holder.post(STATE)) == texts(api.post(STATE)) == ["Hello"]


def test_the_limits_of_the_agent_hold_for_a_visitor(api: Api, conversation: str) -> None:
    assert api.patch("/v3/agents/support", {"agent": {"limits": {"maxInteractionsPerUserId": 1}}}).status == 200
    answer = visitor(api).post(MESSAGES, {"messages": [message("More")]})
    assert refused(answer, 429).startswith("The agent's limits.maxInteractionsPerUserId is 1.")
    assert answer.headers[ORIGIN] == "*"


def test_a_look_costs_what_it_costs_a_server(api: Api, agent_id: str) -> None:
    early = visitor(api)
    api.post(STATE, state_body("Hello"))
    holder, costs = visitor(api), []
    for caller, is_cold in ((holder, False), (holder, False), (holder, True), (early, False), (early, False)):
        if is_cold:
            auth.clear_cache()
        with counted() as requests:
            assert texts(caller.post(STATE)) == ["Hello"]
        costs.append(requests)
    look, find = {"BatchGetItem": 1}, {"GetItem": 1}
    # A new process finds the issuer, too. A token that is older than its conversation is bound to the conversation only
    # once.
    assert costs == [look | find, look, look | {"GetItem": 2}, look | find | {"UpdateItem": 1}, look | find]


# ---- actions that revoke a token ----------------------------------------------------------------------------------


@pytest.mark.parametrize("known", [True, False], ids=["issued after it", "issued before it"])
def test_a_token_ends_with_its_conversation_even_if_the_id_is_used_again(
    api: Api, agent_id: str, pass_time: PassTime, known: bool
) -> None:
    early = visitor(api)
    api.post(STATE, state_body("Hello"))
    holder = visitor(api) if known else early
    assert texts(holder.post(STATE)) == ["Hello"]
    assert api.delete("/v3/agents/support/convos/ann").status == 200
    refused(holder.post(STATE), 404, interaction=True, platform="vg")
    refused(holder.post(STATE, {"metadata": {"userName": "Ann"}}), 404, interaction=True, platform="vg")
    refused(holder.post(MESSAGES, {"messages": [message("Anyone?")]}), 404)
    api.post(STATE, state_body("Somebody else"))
    refused(holder.post(STATE), 404, interaction=True, platform="vg")
    pass_time(31)
    refused(holder.post(STATE), 404, interaction=True, platform="vg")


def test_another_process_that_does_not_know_of_the_binding_keeps_to_it(
    api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "forget", lambda _: None)
    holder = visitor(api)
    api.post(STATE, state_body("Hello"))
    assert [texts(holder.post(STATE)), texts(holder.post(STATE))] == [["Hello"], ["Hello"]]
    api.delete("/v3/agents/support/convos/ann")
    api.post(STATE, state_body("Somebody else"))
    refused(holder.post(STATE), 404, interaction=True, platform="vg")


@pytest.mark.parametrize(
    ("path", "body"),
    [(STATE, {"metadata": {"userName": "Ann"}}), (MESSAGES, {"messages": [message("Hello")]})],
    ids=["by its name", "by a message"],
)
def test_a_token_ends_with_the_conversation_that_it_created(api: Api, agent_id: str, path: str, body: Any) -> None:
    holder = visitor(api)
    assert holder.post(path, body).status == 200
    api.delete("/v3/agents/support/convos/ann")
    api.post(STATE, state_body("Somebody else"))
    refused(holder.post(STATE), 404, interaction=True, platform="vg")


def test_another_process_that_does_not_know_of_the_binding_creates_no_second_conversation(
    api: Api, agent_id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(auth, "forget", lambda _: None)
    holder = visitor(api)
    api.post(STATE, state_body("Hello"))
    assert texts(holder.post(STATE)) == ["Hello"]
    api.delete("/v3/agents/support/convos/ann")
    refused(holder.post(MESSAGES, {"messages": [message("Anyone?")]}), 404)
    refused(holder.post(STATE, {"metadata": {"userName": "Ann"}}), 404, interaction=True, platform="vg")
    refused(api.get("/v3/agents/support/convos/ann"), 404)


def test_a_token_ends_with_the_access_token_that_issued_it(api: Api, conversation: str, pass_time: PassTime) -> None:
    access = api.post("/v3/tokens", {"token": {"name": "ci", "expiresInSeconds": 3600}}).data
    made = issue(Api(access["token"]), V3)
    assert made["expiresAt"] == access["expiresAt"]
    pass_time(3601)
    refused(Api(made["token"]).post(STATE), 401, interaction=True)


def test_a_token_ends_within_thirty_seconds_of_the_revocation_of_its_issuer(
    api: Api, conversation: str, pass_time: PassTime
) -> None:
    access = api.post("/v3/tokens", {"token": {"name": "ci"}}).data
    issuer = Api(access["token"])
    holder = visitor(issuer, V3)
    pass_time(29)
    assert holder.post(STATE).status == 200
    api.delete(f"/v3/tokens/{access['id']}")
    pass_time(29)
    refused(holder.post(STATE), 401, interaction=True)


def test_a_token_ends_with_the_overlap_of_a_rotated_agent_key(api: Api, conversation: str, pass_time: PassTime) -> None:
    key = api.get("/v2/agents/support").json["SECRET_API_KEY"]
    holder = visitor(Api(key), expiresInSeconds=7 * DAY)
    api.post("/v2/agents/support", {"SECRET_API_KEY": tokens.new(tokens.AGENT)})
    pass_time(DAY - 1)
    assert holder.post(STATE).status == 200
    pass_time(31)
    refused(holder.post(STATE), 401, interaction=True)


def test_who_registers_the_revoked_key_of_another_workspace_gets_no_visitors(
    api: Api, conversation: str, pass_time: PassTime
) -> None:
    key = api.get("/v2/agents/support").json["SECRET_API_KEY"]
    holder = visitor(Api(key), expiresInSeconds=30 * DAY)
    api.post("/v2/agents/support", {"SECRET_API_KEY": None})
    pass_time(31)
    refused(holder.post(STATE), 401, interaction=True)
    thief = Api(workspaces.create("Other").workspace_key)
    assert thief.post("/v2/agents/support", {"SECRET_API_KEY": key}).status == 200
    refused(holder.post(STATE), 401, interaction=True)


def test_a_deleted_agent_has_no_visitors(api: Api, conversation: str, pass_time: PassTime) -> None:
    key = api.get("/v2/agents/support").json["SECRET_API_KEY"]
    holders = [visitor(Api(key)), visitor(api)]
    assert [one.post(STATE).status for one in holders] == [200, 200]
    api.delete("/v3/agents/support")
    pass_time(31)
    assert [one.post(STATE).status for one in holders] == [401, 404]


def test_a_suspended_workspace_answers_its_visitors_so(api: Api, workspace: NewWorkspace, conversation: str) -> None:
    holder = visitor(api)
    for entry in credentials.list_entries(workspace.workspace_id):
        credentials.suspend(entry)
    auth.clear_cache()
    answer = holder.post(STATE)
    assert (answer.status, answer.json["code"]) == (403, "WORKSPACE_SUSPENDED")
    assert answer.headers[ORIGIN] == "*"


@pytest.mark.parametrize(
    ("body", "key"),
    [({}, "1"), ({"metadata": {"userName": "Ann"}}, "two words"), ({}, "")],
    ids=["read", "write", "empty"],
)
def test_a_visitor_sends_no_idempotency_key(api: Api, conversation: str, body: dict[str, Any], key: str) -> None:
    """If keys were accepted, each read with a new key would store a response of several megabytes."""
    token, before = issue(api)["token"], stored()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", "Idempotency-Key": key}
    with metered() as meter:
        answers = [Api().call("POST", path, body, headers) for path in (STATE, MESSAGES)]
    rule = "must not be sent with a visitor token; omit the header, and retry a message with the same mid"
    for answer in answers:
        refused(answer, 400, "Idempotency-Key", interaction=answer is answers[0])
        assert answer.json["issues"] == [{"path": "Idempotency-Key", "message": rule}]
        assert answer.headers[ORIGIN] == "*"
    assert meter.writes == 0
    assert stored() == before


# ---- pages on other origins -----------------------------------------------------------------------

ORIGIN = "access-control-allow-origin"


def test_a_page_reads_the_answers_to_a_visitor_token(api: Api, conversation: str) -> None:
    token = issue(api)["token"]
    holder = Api(token)
    answers = {
        200: holder.post(STATE, {}),
        400: holder.post(STATE, {"unknown": 1}),
        401: Api(tokens.new(tokens.VISITOR)).post(STATE, {}),
        403: holder.post(STATE, {"turns": []}),
        413: holder.post(STATE, b" " * 3_000_000),
    }
    assert {status: answer.status for status, answer in answers.items()} == {status: status for status in answers}
    assert {answer.headers[ORIGIN] for answer in answers.values()} == {"*"}
    assert "ETag" in answers[200].headers["access-control-expose-headers"]


@pytest.mark.parametrize("allowed", [None, "https://example.com"])
def test_a_page_does_not_read_the_answers_to_another_credential(
    api: Api, workspace: NewWorkspace, conversation: str, monkeypatch: pytest.MonkeyPatch, allowed: str | None
) -> None:
    monkeypatch.setattr(cors, "CORS", allowed and cors._allowing(allowed))
    key = api.get("/v2/agents/support").json["SECRET_API_KEY"]
    bearers = [key, workspace.workspace_key, workspace.access_token, tokens.new(tokens.AGENT), "cams_visitor_x", None]
    answers = [Api(one).post(STATE, {}) for one in bearers]
    assert [answer.status for answer in answers] == [200, 200, 403, 401, 401, 401]
    assert {answer.headers.get(ORIGIN) for answer in answers} == {allowed}
    if not allowed:
        assert not [name for answer in answers for name in answer.headers if name.startswith("access-control-")]


def test_a_page_reads_the_answers_to_new_messages_of_a_visitor_only(api: Api, conversation: str) -> None:
    answers = [one.post(MESSAGES, {"messages": [message("Hello")]}) for one in (visitor(api), api)]
    assert [(one.status, one.headers.get(ORIGIN)) for one in answers] == [(200, "*"), (200, None)]


def test_a_visitor_token_lets_no_page_read_another_route(api: Api, conversation: str) -> None:
    for path in (EDGE, "/v2/agents/support", "/v3/agents"):
        assert ORIGIN not in visitor(api).post(path, {}).headers


def test_any_page_may_ask_for_the_routes_of_a_visitor() -> None:
    for path in auth.VISITOR_ROUTES:
        configured = app.routes[path]["POST"].cors
        assert configured.allow_origin == "*"
        assert {"Authorization", "Content-Type", "Idempotency-Key"} <= set(configured.allow_headers.split(","))
        assert configured.get_access_control_headers().get("Access-Control-Allow-Credentials") is None
