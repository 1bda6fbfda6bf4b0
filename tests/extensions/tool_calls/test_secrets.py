"""Testing a tool never reveals the tool's secrets, and no token can redirect them to another server."""

import time
from base64 import b64encode
from typing import Any

import pytest

from chalicelib.extensions.tool_calls import calls
from chalicelib.sending import response as responses
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import refused
from tests.extensions.tool_calls.servers import KEY, SECRET, echo, last_request, reads_any
from tests.extensions.tool_calls.timed_calls import Create, field
from tests.selection import first_case
from tests.sending import receivers
from tests.sending.receivers import receiver


def test_no_answer_has_a_secret_of_the_tool(
    workspace: NewWorkspace,
    api: Api,
    create: Create,
    private: None,
) -> None:
    fields = [field("header", "Authorization", value=KEY), field("query", "token", defaultValue=KEY)]
    with receiver(echo) as endpoint:
        path = create(method="POST", serverUrl=endpoint.url, serverUrlSecret=SECRET, fields=fields)
        for caller in (api, Api(workspace.access_token)):
            answer = caller.post(path, {"arguments": {"number": "1042"}})
            assert answer.data["request"] == {
                "method": "POST",
                "url": f"{endpoint.url}?token=***",
                "headers": {"Authorization": "***", "X-Tool-Secret": "***"},
                "body": '{"number":"1042"}',
            }
            assert answer.data["response"]["headers"]["x-echo"] == "***, ***"
            body = answer.data["response"]["body"]
            assert body.count("***") == 18
            assert all(
                endpoint not in answer.text for endpoint in ("s3cret", "canary", "czNjcmV0", "Y2FuYXJ5", "QmVhcmVy")
            )
    assert last_request(endpoint)[1]["Authorization"] == KEY


@pytest.mark.parametrize(
    "members",
    [
        {"serverUrlSecret": SECRET},
        {"fields": [field("header", "Authorization", value=KEY)]},
        {"fields": [field("query", "token", defaultValue=KEY)]},
    ],
)
def test_a_token_that_is_not_shown_secrets_cannot_send_them_to_its_own_server(
    members: dict[str, Any], api: Api, create: Create, private: None
) -> None:
    token = Api(api.post("/v3/tokens", {"token": {"name": "CI", "scopes": ["tools:write"]}}).data["token"])
    path = create(serverUrl="https://shop.example.com/", **members)
    with receiver(reads_any(receivers.OK)) as endpoint:
        assert token.patch(path.removesuffix("/test"), {"tool": {"serverUrl": endpoint.url}}).status == 200
        message = refused(token.post(path, {"arguments": {}}), 403)
        assert message == "A test of a tool with secrets requires a credential that may read secrets."
        assert endpoint.connections == 0


def test_a_token_that_is_not_shown_secrets_tests_a_tool_without_any(api: Api, create: Create, private: None) -> None:
    token = Api(api.post("/v3/tokens", {"token": {"name": "CI", "scopes": ["tools:write"]}}).data["token"])
    with receiver(reads_any(receivers.OK)) as one:
        path = create(serverUrl=one.url, fields=[field("query", "number", required=True)])
        assert token.post(path, {"arguments": {"number": 1}}).data["response"]["status"] == 200


@pytest.mark.parametrize(("value", "body"), [("s3cret-8", "***"), ("s3cret7", "s3cret7")])
def test_a_response_masks_field_values_of_eight_characters(
    value: str, body: str, api: Api, create: Create, private: None
) -> None:
    with receiver(reads_any(b"HTTP/1.1 200 OK\r\n\r\n" + value.encode())) as one:
        path = create(serverUrl=one.url, fields=[field("header", "X-Key", value=value)])
        assert api.post(path, {"arguments": {}}).data["response"]["body"] == body


@first_case
@pytest.mark.parametrize("start", range(calls.MAX_SHOWN - len(SECRET), calls.MAX_SHOWN + 1))
def test_a_secret_across_the_end_of_what_is_shown_is_masked(
    start: int,
    api: Api,
    create: Create,
    private: None,
) -> None:
    body = (b"x" * start + SECRET.encode()).ljust(calls.MAX_SHOWN * 2, b"y")
    with receiver(reads_any(b"HTTP/1.1 200 OK\r\n\r\n" + body)) as one:
        path = create(serverUrl=one.url, serverUrlSecret=SECRET)
        shown = api.post(path, {"arguments": {}}).data["response"]["body"]
    assert shown == ("x" * start + "***").ljust(calls.MAX_SHOWN, "y")[: calls.MAX_SHOWN]


def test_a_secret_at_the_end_of_what_is_read_is_not_moved_into_what_is_shown(
    api: Api, create: Create, private: None
) -> None:
    many = SECRET.encode() * 10_000  # masking shortens this text to 30 KB
    with receiver(reads_any(b"HTTP/1.1 200 OK\r\n\r\n" + many)) as one:
        path = create(serverUrl=one.url, serverUrlSecret=SECRET)
        shown = api.post(path, {"arguments": {}}).data["response"]
    assert set(shown["body"]) == {"*"}
    assert shown["isTruncated"]


@pytest.mark.long
def test_masking_many_secrets_that_begin_alike_takes_little_time() -> None:
    fields = [field("header", f"a{one}", value="x" * 1000 + f" {'x' * 900}{one:03}") for one in range(100)]
    tool = {"fields": fields}
    response = responses.Response()
    response.status, response.body = 200, bytearray(b"x" * responses.MAX_BODY)
    response.headers = [(b"x", b"x")] * 60_000
    start = time.process_time()
    calls._render_response(response, calls._find_secrets(tool, calls._with_masks(tool)))
    assert time.process_time() - start < 2


def test_a_secret_in_a_body_that_is_no_text_is_masked(api: Api, create: Create, private: None) -> None:
    with receiver(reads_any(b"HTTP/1.1 200 OK\r\n\r\n\xff" + SECRET.encode())) as one:
        path = create(serverUrl=one.url, serverUrlSecret=SECRET)
        shown = api.post(path, {"arguments": {}}).data["response"]
    assert (shown["body"], shown["isBase64"]) == (b64encode(b"\xff***").decode(), True)
