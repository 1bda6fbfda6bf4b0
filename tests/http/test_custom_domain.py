"""A deployment works behind any address: no response depends on the host, and links on pages use the request's path."""

import re
from typing import Any

import pytest
from chalice.local import LambdaContext

from app import app
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api

# The path before the route: on a custom domain, under the domain's base path, and at the gateway's own address.
PREFIXES = ["", "/support", "/support/v1", "/prod"]
HOST = "cams.host.example"
PASSWORD = "a long enough password"


def call(prefix: str, method: str, path: str, body: Any = None, **headers: str) -> dict[str, Any]:
    event = Api().event(method, path, body, headers)
    event["headers"]["host"] = HOST
    event["requestContext"]["path"] = prefix + event["requestContext"]["path"]
    response: dict[str, Any] = app(event, LambdaContext("api", 256))
    return response


@pytest.mark.parametrize(
    "path", ["/v3/agents?pageSize=1", "/v2/agents/one", "/openapi.json", "/docs/", "/v3/agents/none"]
)
def test_a_response_of_the_api_is_the_same_behind_every_address(path: str, api: Api, workspace: NewWorkspace) -> None:
    for name in ("one", "two"):
        api.post(f"/v2/agents/{name}", {"title": name})
    token = f"Bearer {workspace.workspace_key}"
    first, *others = [call(prefix, "GET", path, authorization=token) for prefix in PREFIXES]
    assert HOST not in first["body"]
    for other in others:
        assert (other["statusCode"], other["body"]) == (first["statusCode"], first["body"])
        assert {**other["headers"], "X-Request-Id": ""} == {**first["headers"], "X-Request-Id": ""}


def test_the_documents_name_their_own_address_relatively() -> None:
    assert '"servers":[{"url":"."' in call("/prod", "GET", "/openapi.json")["body"]
    page = call("/prod", "GET", "/docs")["body"]
    links = re.findall(r'(?:href|src)="([^"]*)"', page)
    assert [one for one in links if one.startswith("/")] == []
