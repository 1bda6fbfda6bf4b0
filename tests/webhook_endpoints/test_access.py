"""Which credentials permit which webhook operations, and on which endpoints."""

from typing import Any

import pytest

from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import refused, stored
from tests.builders import webhook_body
from tests.webhook_endpoints.endpoints import URL, create


def everything(made: Any, delivery: Any) -> list[tuple[str, str, Any]]:
    """Return a valid request for every webhook operation, with the deletion last."""
    path = f"/v3/webhooks/{made['id']}"
    return [
        ("GET", "/v3/webhooks", None),
        ("GET", path, None),
        ("GET", f"{path}/deliveries", None),
        ("GET", f"{path}/deliveries/{delivery['id']}", None),
        ("POST", "/v3/webhooks", webhook_body(URL)),
        ("PATCH", path, {"webhook": {"enabled": False}}),
        ("POST", f"{path}/test", None),
        ("POST", f"{path}/rotate", None),
        ("POST", f"{path}/deliveries/{delivery['id']}/redeliver", None),
        ("DELETE", path, None),
    ]


@pytest.fixture
def valid_requests(api: Api) -> list[tuple[str, str, Any]]:
    """Return a valid request for every webhook operation on a new endpoint."""
    made = create(api)
    return everything(made, api.post(f"/v3/webhooks/{made['id']}/test").data)


def test_the_operations_are_404_for_another_workspace(
    valid_requests: list[tuple[str, str, Any]], api: Api, other_workspace: NewWorkspace
) -> None:
    other = Api(other_workspace.workspace_key)
    assert other.get("/v3/webhooks").data == []
    before = stored()
    for method, path, body in valid_requests:
        if path != "/v3/webhooks":
            refused(other.call(method, path, body), 404)
    assert stored() == before


def test_a_delivery_is_not_found_under_another_endpoint(api: Api) -> None:
    first, second = create(api), create(api)
    delivery = api.post(f"/v3/webhooks/{first['id']}/test").data
    path = f"/v3/webhooks/{second['id']}/deliveries"
    assert refused(api.get(f"{path}/{delivery['id']}"), 404) == "There is no such delivery."
    assert refused(api.post(f"{path}/{delivery['id']}/redeliver"), 404) == "There is no such delivery."
    assert api.get(path).data == []


def test_an_access_token_opens_every_operation(
    valid_requests: list[tuple[str, str, Any]], workspace: NewWorkspace
) -> None:
    token = Api(workspace.access_token)
    assert {token.call(method, path, body).status for method, path, body in valid_requests} == {200}


def test_a_read_only_access_token_opens_only_get(valid_requests: list[tuple[str, str, Any]], api: Api) -> None:
    reader = Api(api.post("/v3/tokens", {"token": {"name": "reader", "readOnly": True}}).data["token"])
    assert reader.get("/v3/webhooks").status == 200  # records the token's first use
    before = stored()
    for method, path, body in valid_requests:
        answer = reader.call(method, path, body)
        if method == "GET":
            assert answer.data
        else:
            refused(answer, 403)
    assert stored() == before


def test_an_agent_key_opens_no_webhook_operation(
    valid_requests: list[tuple[str, str, Any]], api: Api, agent_id: str
) -> None:
    agent = Api(api.get("/v2/agents/support").json["SECRET_API_KEY"])
    for method, path, body in valid_requests:
        refused(agent.call(method, path, body), 403)


def test_the_workspace_secret_opens_no_webhook_operation(
    valid_requests: list[tuple[str, str, Any]], workspace: NewWorkspace
) -> None:
    for method, path, body in valid_requests:
        refused(Api(workspace.workspace_secret).call(method, path, body), 401)
