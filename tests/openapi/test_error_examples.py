"""The examples of errors in the OpenAPI document are real responses."""

from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from chalicelib import clock, storage
from chalicelib.credentials import store as credentials
from chalicelib.deletion import cascade
from chalicelib.http import auth
from chalicelib.openapi.error_responses import EXAMPLES as REFUSALS
from chalicelib.storage.unit import Unit
from chalicelib.webhooks import endpoints
from chalicelib.workspaces import store as workspaces
from tests.api import Answer, Api
from tests.builders import webhook_body
from tests.openapi.document import document
from tests.openapi.example_stage import TOO_LARGE, Stage
from tests.openapi.example_stage import stage as stage


@pytest.fixture
def busy_database() -> Iterator[Callable[[], None]]:
    """Throttle all requests to the database, without the SDK's pauses."""
    events = storage.sdk_client("dynamodb").meta.events
    throttled = SimpleNamespace(status_code=400), {"Error": {"Code": "ThrottlingException"}, "ResponseMetadata": {}}

    def throttle(**_: Any) -> Any:
        return throttled

    yield lambda: events.register("before-call.dynamodb", throttle)
    events.unregister("before-call.dynamodb", throttle)


def test_every_error_example_equals_a_real_answer(
    stage: Stage, busy_database: Callable[[], None], monkeypatch: pytest.MonkeyPatch
) -> None:
    api, other = stage.api, Api(stage.api.post("/v3/agents", {"agent": {}}).data["SECRET_API_KEY"])
    reader = Api(api.post("/v3/tokens", {"token": {"name": "ci", "scopes": ["tools:read"]}}).data["token"])
    made = workspaces.create("Suspended")
    suspended = Api(made.workspace_key)
    for entry in credentials.list_entries(made.workspace_id):
        credentials.suspend(entry)
    plain = {**api._headers, "Content-Type": "text/plain"}
    two = {"turns": [{"from": "human", "messages": [{}, {}]}]}
    api.patch("/v3/agents/support", {"agent": {"messagesLimit": 1}})

    def tools(agent_id: str = "support", *, using: Api = api, body: Any = b"{}", **headers: Any) -> Answer:
        return using.call("POST", f"/v3/agents/{agent_id}/tools", body, **headers)

    def state(agent_id: str = "support", *, using: Api = api, body: Any = b"{}", **headers: Any) -> Answer:
        return using.call("POST", f"/agents/{agent_id}/interact/visitor-1/state", body, **headers)

    answers = {
        "Error path": tools("%20"),
        "Error body": tools(body={"tool": {"name": 5}}),
        "Error token": tools(using=Api()),
        "Error credential": tools(using=other),
        "Error scope": tools(using=reader),
        "Error unknown": tools("unknown", body={"tool": {"name": "x"}}),
        "Error record": tools(body=TOO_LARGE["create_tool"]),
        "Error text": tools(headers=plain),
        "InteractionError path": state("%20"),
        "InteractionError body": state(body={"turns": 5}),
        "InteractionError token": state(using=Api()),
        "InteractionError credential": state(using=other),
        "InteractionError unknown": state("unknown"),
        "InteractionError metadata": state(body=TOO_LARGE["exchange_state"]),
        "InteractionError text": state(headers=plain),
        "Error suspended": tools(using=suspended),
        "InteractionError suspended": state(using=suspended),
        "InteractionError limit": api.post("/agents/support/interact/visitor-2/state", two),
    }
    with monkeypatch.context() as patch:
        patch.setattr(endpoints, "list_all", lambda _: [SimpleNamespace(webhook_id="w")] * endpoints.MAX_ENDPOINTS)
        hook = webhook_body("https://example.com/hook", "agent_created")
        answers["Error limit"] = api.post("/v3/webhooks", hook)
    with monkeypatch.context() as patch:
        patch.setattr(Unit, "commit", lambda _: (_ for _ in ()).throw(storage.ConditionFailed()))
        patch.setattr(clock, "sleep", lambda duration: None)
        answers["Error stale"] = api.patch("/v3/agents/support", {"agent": {"title": "Other"}})
        answers["InteractionError stale"] = state(body={"metadata": {"userName": "Other"}})
    other_tag = {**api._headers, "Content-Type": "application/json", "If-Match": '"another"'}
    answers["Error changed"] = api.call("PATCH", "/v3/agents/support", {"agent": {}}, other_tag)
    answers["InteractionError changed"] = state(headers=other_tag)
    taken = {**api._headers, "Content-Type": "application/json", "Idempotency-Key": "taken"}
    assert api.call("POST", "/v3/agents/support/tools", {"tool": {"name": "x"}}, taken).status == 200
    answers |= {"Error key": tools(headers=taken), "InteractionError key": state(headers=taken)}
    sign_in = {"email": "ann@example.com"}
    assert api.post("/v2/clients/ann", sign_in).status == 200
    answers["Error email"] = api.post("/v2/clients/bob", sign_in)
    login = api.get("/v3/agents/support").data["SECRET_API_KEY"]
    answers["Error login"] = api.post("/v2/agents/new", {"SECRET_API_KEY": login})
    api.post("/v2/agents/going", {})
    with monkeypatch.context() as patch:
        patch.setattr(cascade, "_run", lambda *_: False)
        api.delete("/v3/agents/going")
    answers["Error deleting"] = api.post("/v2/agents/going", {})
    asked = {"messages": [{"mid": "m-4", "from": "human", "ts": 1793611800}]}
    api.patch("/v3/agents/support", {"agent": {"messagesLimit": 0}})
    assert api.post("/agents/support/interact/visitor-1/messages", asked).status == 200
    reply = {"messages": [{}], "inReplyTo": "m-4"}
    answers["Error chatting"] = api.post("/agents/support/interact/visitor-1/messages", reply)
    busy_database()
    answers |= {"Error busy": tools(body={"tool": {"name": "x"}}), "InteractionError busy": state()}
    monkeypatch.setattr(auth, "caller", lambda: 1 // 0)
    answers |= {"Error failed": tools(), "InteractionError failed": state()}

    assert {name: (answer.status, answer.json) for name, answer in answers.items()} == {
        f"{form} {name}": (status, value)
        for form, statuses in REFUSALS.items()
        for status, examples in statuses.items()
        for name, value in examples.items()
    }


def test_no_client_needs_the_header_that_api_gateway_renames() -> None:
    header = document()["components"]["responses"]["Unauthorized"]["headers"]["WWW-Authenticate"]
    assert "x-amzn-Remapped-WWW-Authenticate" in header["description"]
    assert not header.get("required")
    root = Path(__file__).parents[2]
    readers = [path for path in (root / "clients").rglob("*.py") if "www-authenticate" in path.read_text().lower()]
    assert readers == []
