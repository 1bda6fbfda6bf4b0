"""The request that tests a tool: what the service sends, what it rejects before sending, and what it replays."""

import json
from typing import Any

import pytest

from chalicelib import storage
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import refused, stored
from tests.extensions.tool_calls.servers import KEY, SECRET, echo, last_request, reads_any
from tests.extensions.tool_calls.timed_calls import Create, field
from tests.moto_tables import snapshot
from tests.sending import receivers
from tests.sending.receivers import receiver
from tests.sending.sockets import Watch

ARGUMENTS = {"number": "10 42", "open": True, "gone": None, "tags": ["a"]}
IN_QUERY = "number=10+42&open=true&tags=%5B%22a%22%5D"
IN_BODY = {"number": "10 42", "open": True, "tags": ["a"]}
REQUESTS: dict[str, tuple[dict[str, Any], str, dict[str, str], Any]] = {
    "GET by default": ({}, f"GET /hook?{IN_QUERY}", {}, None),
    "DELETE": ({"method": "DELETE"}, f"DELETE /hook?{IN_QUERY}", {}, None),
    "POST": ({"method": "post"}, "POST /hook", {}, IN_BODY),
    "PUT": ({"method": "PUT"}, "PUT /hook", {}, IN_BODY),
    "PATCH": ({"method": "PATCH"}, "PATCH /hook", {}, IN_BODY),
    "a secret": ({"serverUrlSecret": SECRET}, f"GET /hook?{IN_QUERY}", {"X-Tool-Secret": SECRET}, None),
    "an argument in a header": (
        {"method": "POST", "fields": [field("header", "number")]},
        "POST /hook",
        {"number": "10 42"},
        {"open": True, "tags": ["a"]},
    ),
    "an argument in the body of a GET": (
        {"fields": [field("body", "number")]},
        "GET /hook?open=true&tags=%5B%22a%22%5D",
        {},
        {"number": "10 42"},
    ),
    "an argument in the query of a POST": (
        {"method": "POST", "fields": [field("query", key) for key in ARGUMENTS]},
        f"POST /hook?{IN_QUERY}",
        {},
        {},
    ),
    "a fixed value, a default and no key": (
        {
            "method": "POST",
            "fields": [
                field("header", "Authorization", value=KEY),
                field(None, "number", value="fixed"),
                field(None, "gone", defaultValue=[1]),
                field(None, "", value="ignored"),
                {"value": "ignored"},
            ],
        },
        "POST /hook",
        {"Authorization": KEY},
        {"open": True, "tags": ["a"], "number": "fixed", "gone": [1]},
    ),
}


@pytest.mark.parametrize(("members", "line", "headers", "body"), REQUESTS.values(), ids=REQUESTS)
def test_a_call_is_exactly_this_request(
    members: dict[str, Any],
    line: str,
    headers: dict[str, str],
    body: Any,
    api: Api,
    create: Create,
    private: None,
) -> None:
    with receiver(echo if body is not None else reads_any(receivers.OK)) as endpoint:
        answer = api.post(create(serverUrl=endpoint.url, **members), {"arguments": ARGUMENTS})
    got_line, got_headers, got_body = last_request(endpoint)
    own = {"Host": endpoint.address, "Connection": "close", "User-Agent": "cams-tools"}
    if body is not None:
        own |= {"Content-Type": "application/json", "Content-Length": str(len(got_body))}
    assert (got_line, got_headers) == (f"{line} HTTP/1.1", {**own, **headers})
    assert (json.loads(got_body) if got_body else None) == body
    shown = answer.data["request"]
    assert (shown["method"], shown["url"]) == (line.split()[0], endpoint.url + line.split()[1].removeprefix("/hook"))
    assert shown["headers"].keys() == headers.keys()
    assert ("body" in shown) == (body is not None)


def test_an_argument_in_the_path_replaces_its_name(api: Api, create: Create, private: None) -> None:
    with receiver(reads_any(receivers.OK)) as one:
        path = create(serverUrl=f"{one.url}/{{number}}/lines?a=b", fields=[field("path", "number")])
        api.post(path, {"arguments": {"number": "10/42", "c": "d"}})
    assert last_request(one)[0] == "GET /hook/10%2F42/lines?a=b&c=d HTTP/1.1"


LONG = [field("path", "a", defaultValue="b" * 2049)]
NOT_CALLABLE: dict[str, tuple[dict[str, Any], str]] = {
    "no URL": ({}, "tool.serverUrl"),
    "an empty URL": ({"serverUrl": ""}, "tool.serverUrl"),
    "another method": ({"serverUrl": "https://127.0.0.1/", "method": "CONNECT"}, "tool.method"),
    "another place": ({"serverUrl": "https://127.0.0.1/", "fields": [field("cookie", "a")]}, "tool.fields.0.in"),
    "too many fields": ({"serverUrl": "https://127.0.0.1/", "fields": [field("query", "a")] * 101}, "tool.fields"),
}
WRONG_ARGUMENTS = {
    "a long path": ("https://127.0.0.1/" + "{a}" * 600, LONG),
    "another path": ("https://127.0.0.1/users/{a}/orders", [field("path", "a", defaultValue="..")]),
    "a required argument": ("https://127.0.0.1/", [field("query", "a", required=True)]),
}


@pytest.mark.parametrize(("members", "path"), NOT_CALLABLE.values(), ids=NOT_CALLABLE)
def test_a_tool_that_describes_no_call_is_a_conflict(
    members: dict[str, Any], path: str, api: Api, create: Create, watch: Watch
) -> None:
    message = refused(api.post(create(**members), {"arguments": {}}), 409, code="NOT_CALLABLE")
    assert message.startswith(f"{path} must ")
    assert watch.sockets == 0


@pytest.mark.parametrize(("url", "fields"), WRONG_ARGUMENTS.values(), ids=WRONG_ARGUMENTS)
def test_wrong_arguments_are_refused_by_name(
    url: str, fields: list[Any], api: Api, create: Create, watch: Watch
) -> None:
    refused(api.post(create(serverUrl=url, fields=fields), {"arguments": {}}), 400, "arguments.a")
    assert watch.sockets == 0


@pytest.mark.parametrize("arguments", [None, [], "a", 1])
def test_arguments_are_an_object(arguments: Any, api: Api, create: Create, watch: Watch) -> None:
    answer = api.post(create(serverUrl="https://127.0.0.1/"), {"arguments": arguments})
    assert (answer.status, answer.json["issues"][0]["path"]) == (400, "arguments")
    assert watch.sockets == 0


def test_a_read_only_token_calls_nothing(
    workspace: NewWorkspace,
    api: Api,
    create: Create,
    watch: Watch,
) -> None:
    path = create(serverUrl="https://127.0.0.1/")
    for rights in ({"readOnly": True}, {"scopes": ["agents:write"]}):
        token = api.post("/v3/tokens", {"token": {"name": "CI", **rights}}).data["token"]
        answer = Api(token).post(path, {"arguments": {}})
        assert (answer.status, answer.json["message"]) == (403, "The access token lacks the scope tools:write.")
    assert watch.sockets == 0


def test_nothing_is_stored(api: Api, create: Create, private: None) -> None:
    with receiver(reads_any(receivers.OK)) as endpoint:
        path = create(serverUrl=endpoint.url, disabled=True)
        before = snapshot()
        assert api.post(path, {"arguments": {}}).status == 200
    assert snapshot() == before
    assert endpoint.connections == 1


def test_a_repeat_with_a_key_calls_again_and_stores_nothing(
    workspace: NewWorkspace, api: Api, create: Create, private: None
) -> None:
    headers = {
        "Authorization": f"Bearer {workspace.workspace_key}",
        "Content-Type": "application/json",
        "Idempotency-Key": "once",
    }
    with receiver(reads_any(receivers.OK)) as endpoint:
        path = create(serverUrl=endpoint.url)
        first, second = (api.call("POST", path, {"arguments": {}}, headers=headers) for _ in range(2))
    assert [answer.json["data"]["response"]["status"] for answer in (first, second)] == [200, 200]
    assert endpoint.connections == 2
    assert stored()[storage.table("idempotency")] == []


def test_a_header_cannot_be_injected(api: Api, create: Create, private: None, watch: Watch) -> None:
    path = create(serverUrl="http://127.0.0.1:9/", fields=[field("header", "X-A")])
    data = api.post(path, {"arguments": {"X-A": "1\r\nX-B: 2"}}).data
    assert data["error"] == "A header has a reserved name or an invalid character."
    assert watch.sockets == 0
