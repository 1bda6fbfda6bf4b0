"""The test of a tool against real sockets: its request, its answer, masked secrets, and hostile servers."""

import json
import socket
import sys
import time
from base64 import b64encode, urlsafe_b64encode
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from chalicelib.sending import response as responses
from chalicelib.tools import calls
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.conftest import PassTime
from tests.evidence import refused
from tests.moto_tables import snapshot
from tests.selection import one_of_each
from tests.sockets import Resolve, Watch
from tests.webhooks import receivers
from tests.webhooks.hostile_receivers import EARLY, HANGING, MISBEHAVING, NOT_HTTP, TOO_LONG, TOO_MUCH
from tests.webhooks.private_addresses import MIXED, RESOLVED, SPELLINGS, way_of_spelling
from tests.webhooks.receivers import Behaviour, Receiver, answers, receiver
from tests.webhooks.sending import DEADLINE, SLACK

pytestmark = pytest.mark.usefixtures("public_only", "empty_cache")

SECRET = "s3cret/of+the=server"
KEY = "Bearer canary-of-a-field"
INCOMPLETE = "The receiver closed the connection before the end of its response."

Create = Callable[..., str]


@pytest.fixture
def create(api: Api, agent_id: str) -> Create:
    """Create a tool of the agent; returns the path of its test."""

    def create(**members: Any) -> str:
        made = api.post(f"/v3/agents/{agent_id}/tools", {"tool": {"name": "Look up", **members}})
        return f"/v3/tools/{made.data['id']}/test"

    return create


def field(place: str | None, key: str, **members: Any) -> dict[str, Any]:
    return {"key": key, **({"in": place} if place else {}), **members}


def sent(one: Receiver) -> tuple[str, dict[str, str], str]:
    """The request line, the headers and the body that the receiver got."""
    head, _, body = one.requests[-1].decode().partition("\r\n\r\n")
    line, *headers = head.split("\r\n")
    return line, dict(header.split(": ", 1) for header in headers), body


def echo(connection: socket.socket, where: Receiver) -> None:
    """Answer with the request, in all spellings of its secrets."""
    request = receivers.read_request(connection)
    where.requests.append(request)
    spelled = []
    for text in (SECRET, KEY, KEY.split()[1]):
        raw = text.encode()
        spelled += [text, json.dumps(text), quote(text, safe=""), b64encode(raw).decode()]
        spelled += [urlsafe_b64encode(raw).decode()]
    body = request + "\n".join(spelled).encode()
    head = f"HTTP/1.1 200 OK\r\nX-Echo: {SECRET}\r\nX-Echo: {KEY}\r\nContent-Length: {len(body)}\r\n\r\n"
    connection.sendall(head.encode() + body)


def reads_any(*pieces: bytes, then_hangs: bool = False) -> Behaviour:
    """Read the head of a request, which may have no body, and answer."""

    def behave(connection: socket.socket, where: Receiver) -> None:
        request = b""
        while b"\r\n\r\n" not in request:
            request += receivers.received(connection)
        where.requests.append(request)
        for piece in pieces:
            connection.sendall(piece)
        if then_hangs:
            where.ended.wait()

    return behave


# The request

GIVEN = {"number": "10 42", "open": True, "gone": None, "tags": ["a"]}
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
        {"method": "POST", "fields": [field("query", key) for key in GIVEN]},
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
    with receiver(echo if body is not None else reads_any(receivers.OK)) as one:
        answer = api.post(create(serverUrl=one.url, **members), {"arguments": GIVEN})
    got_line, got_headers, got_body = sent(one)
    own = {"Host": one.address, "Connection": "close", "User-Agent": "cams-tools"}
    if body is not None:
        own |= {"Content-Type": "application/json", "Content-Length": str(len(got_body))}
    assert (got_line, got_headers) == (f"{line} HTTP/1.1", {**own, **headers})
    assert (json.loads(got_body) if got_body else None) == body
    shown = answer.data["request"]
    assert (shown["method"], shown["url"]) == (line.split()[0], one.url + line.split()[1].removeprefix("/hook"))
    assert shown["headers"].keys() == headers.keys()
    assert ("body" in shown) == (body is not None)


def test_an_argument_in_the_path_replaces_its_name(api: Api, create: Create, private: None) -> None:
    with receiver(reads_any(receivers.OK)) as one:
        path = create(serverUrl=f"{one.url}/{{number}}/lines?a=b", fields=[field("path", "number")])
        api.post(path, {"arguments": {"number": "10/42", "c": "d"}})
    assert sent(one)[0] == "GET /hook/10%2F42/lines?a=b&c=d HTTP/1.1"


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
    with receiver(reads_any(receivers.OK)) as one:
        path = create(serverUrl=one.url, disabled=True)
        before = snapshot()
        assert api.post(path, {"arguments": {}}).status == 200
    assert snapshot() == before
    assert one.connections == 1


def test_a_repeat_with_a_key_calls_once(workspace: NewWorkspace, api: Api, create: Create, private: None) -> None:
    headers = {
        "Authorization": f"Bearer {workspace.workspace_key}",
        "Content-Type": "application/json",
        "Idempotency-Key": "once",
    }
    with receiver(reads_any(receivers.OK)) as one:
        path = create(serverUrl=one.url)
        first, second = (api.call("POST", path, {"arguments": {}}, headers=headers) for _ in range(2))
    assert first.json == second.json
    assert one.connections == 1


# Secrets


def test_no_answer_has_a_secret_of_the_tool(
    workspace: NewWorkspace,
    api: Api,
    create: Create,
    private: None,
) -> None:
    fields = [field("header", "Authorization", value=KEY), field("query", "token", defaultValue=KEY)]
    with receiver(echo) as one:
        path = create(method="POST", serverUrl=one.url, serverUrlSecret=SECRET, fields=fields)
        for caller in (api, Api(workspace.access_token)):
            answer = caller.post(path, {"arguments": {"number": "1042"}})
            assert answer.data["request"] == {
                "method": "POST",
                "url": f"{one.url}?token=***",
                "headers": {"Authorization": "***", "X-Tool-Secret": "***"},
                "body": '{"number":"1042"}',
            }
            assert answer.data["response"]["headers"]["x-echo"] == "***, ***"
            body = answer.data["response"]["body"]
            assert body.count("***") == 18
            assert all(one not in answer.text for one in ("s3cret", "canary", "czNjcmV0", "Y2FuYXJ5", "QmVhcmVy"))
    assert sent(one)[1]["Authorization"] == KEY


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
    with receiver(reads_any(receivers.OK)) as one:
        assert token.patch(path.removesuffix("/test"), {"tool": {"serverUrl": one.url}}).status == 200
        message = refused(token.post(path, {"arguments": {}}), 403)
        assert message == "A test of a tool with secrets needs a credential that is shown secrets."
        assert one.connections == 0


def test_a_token_that_is_not_shown_secrets_tests_a_tool_without_any(api: Api, create: Create, private: None) -> None:
    token = Api(api.post("/v3/tokens", {"token": {"name": "CI", "scopes": ["tools:write"]}}).data["token"])
    with receiver(reads_any(receivers.OK)) as one:
        path = create(serverUrl=one.url, fields=[field("query", "number", required=True)])
        assert token.post(path, {"arguments": {"number": 1}}).data["response"]["status"] == 200


@one_of_each(lambda: None)
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
    many = SECRET.encode() * 10_000  # masks shorten it to 30 KB
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


# The response

HEAD = b"HTTP/1.1 200 OK\r\n"
CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
EURO = "€".encode()
RESPONSES: dict[str, tuple[list[bytes], int, str, str | None]] = {
    "with a length": ([HEAD + b"Content-Length: 2\r\n\r\nok and more"], 200, "ok", None),
    "until the end": ([HEAD + b"\r\nok"], 200, "ok", None),
    "in chunks": ([CHUNKED + b"2;a=b\r\nok\r\n1\r\n!\r\n0\r\n\r\n"], 200, "ok!", None),
    "in single bytes": ([bytes([one]) for one in CHUNKED + b"A\r\n0123456789\r\n0\r\n\r\n"], 200, "0123456789", None),
    "after hints": ([b"HTTP/1.1 103 Early Hints\r\nA: b\r\n\r\n" + HEAD + b"\r\nok"], 200, "ok", None),
    "a redirect": ([b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\n\r\n"], 302, "", None),
    "an error": ([b"HTTP/1.1 500 Oops\r\nContent-Length: 4\r\n\r\noops"], 500, "oops", None),
    "no content": ([b"HTTP/1.1 204 No Content\r\nContent-Length: 4\r\n\r\noops"], 204, "", None),
    "cut in the body": ([HEAD + b"Content-Length: 9\r\n\r\nok"], 200, "ok", INCOMPLETE),
    "cut in the headers": ([HEAD + b"A: b\r\n"], 200, "", INCOMPLETE),
    "cut in a chunk": ([CHUNKED + b"9\r\nok"], 200, "ok", INCOMPLETE),
    "cut between chunks": ([CHUNKED + b"2\r\nok\r\n"], 200, "ok", INCOMPLETE),
    "a negative length": ([HEAD + b"Content-Length: -1\r\n\r\nok"], 200, "", NOT_HTTP),
    "a chunk of letters": ([CHUNKED + b"xyz\r\nok"], 200, "", NOT_HTTP),
    "a header without a colon": ([HEAD + b"abc\r\n\r\nok"], 200, "", NOT_HTTP),
}


@pytest.mark.parametrize(("pieces", "status", "body", "error"), RESPONSES.values(), ids=RESPONSES)
def test_a_response_is_shown(
    pieces: list[bytes],
    status: int,
    body: str,
    error: str | None,
    api: Api,
    create: Create,
    private: None,
) -> None:
    with receiver(reads_any(*pieces)) as one:
        data = api.post(create(serverUrl=one.url), {"arguments": {}}).data
    shown = data["response"]
    assert (shown["status"], shown["body"], data["error"]) == (status, body, error)
    assert (shown["isBase64"], shown["isTruncated"]) == (False, False)


@pytest.mark.parametrize("length", [65_534, 65_537, responses.MAX_BODY + 1, 1_000_000])
@pytest.mark.parametrize("head", [HEAD + b"\r\n", CHUNKED + b"F4240\r\n"], ids=["plain", "in a chunk"])
def test_a_long_body_is_cut_after_64_kb(
    head: bytes,
    length: int,
    api: Api,
    create: Create,
    private: None,
) -> None:
    raw = b"xx" + EURO * length
    with receiver(reads_any(head + raw[:length])) as one:
        shown = api.post(create(serverUrl=one.url), {"arguments": {}}).data["response"]
    assert shown["body"].encode() == raw[:65_534]  # a character is not cut
    assert shown["isTruncated"] == (length > calls.MAX_SHOWN)


def test_the_body_of_the_largest_response_fits_in_the_answer(api: Api, create: Create, private: None) -> None:
    header = b"A" * 7000 + b": " + b"\x7f" * 1000 + b"\r\n"
    with receiver(reads_any(HEAD + header * 12 + b"\r\n" + b"\x01" * 140_000)) as one:
        answer = api.post(create(serverUrl=one.url, serverUrlSecret="\x01"), {"arguments": {}})
        assert answer.status == 200
        answer = api.post(create(serverUrl=one.url, serverUrlSecret="\x01" * 9), {"arguments": {}})
    assert answer.status == 200


# Hostile servers


def tried(api: Api, path: str) -> dict[str, Any]:
    """Call a tool; checks that the call met its deadline."""
    start = time.monotonic()
    answer = api.post(path, {"arguments": {}})
    took = time.monotonic() - start
    assert answer.status == 200, answer.text
    data: dict[str, Any] = answer.data
    sys.stdout.write(f"{took:.3f} s: {data['error']}\n")
    assert took <= calls.DEADLINE_SECONDS + SLACK
    assert data["durationMs"] <= took * 1000 + 1
    return data


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch, private: None) -> None:
    monkeypatch.setattr(calls, "DEADLINE_SECONDS", DEADLINE)


SLOW_BODIES: dict[str, tuple[Behaviour, str]] = {
    "drips a body": (receivers.drips(HEAD + b"\r\n" + b"x" * 1000), TOO_LONG),
    "stops in the headers": (answers(HEAD, then_hangs=True), TOO_LONG),
    "stops in the body": (answers(HEAD + b"Content-Length: 9\r\n\r\nok", then_hangs=True), TOO_LONG),
    "stops between chunks": (answers(CHUNKED + b"2\r\nok\r\n", then_hangs=True), TOO_LONG),
}


@one_of_each(lambda error: error)
@pytest.mark.parametrize(("behaviour", "error"), (HANGING | SLOW_BODIES).values(), ids=HANGING | SLOW_BODIES)
def test_a_call_of_a_server_that_hangs_ends_with_the_deadline(
    behaviour: Behaviour, error: str, api: Api, create: Create, impatient: None
) -> None:
    with receiver(behaviour) as one:
        data = tried(api, create(method="POST", serverUrl=one.url))
    assert data["error"] == error.replace("Sending the request", "Reading the response")  # a small request fits
    assert data["durationMs"] >= DEADLINE * 1000 - 1


FLOODS: dict[str, tuple[Behaviour, str | None]] = {
    "floods a body": (receivers.floods(HEAD + b"\r\n", b"x" * 4096), None),
    "floods chunks": (receivers.floods(CHUNKED, b"1\r\nx\r\n" * 500), TOO_MUCH),
    "floods final headers": (receivers.floods(HEAD, b"X-More: and more\r\n"), TOO_MUCH),
    "claims a huge chunk": (receivers.floods(CHUNKED + b"FFFFFFFF\r\n", b"x" * 4096), None),
}


@one_of_each(lambda error: error)
@pytest.mark.parametrize(("behaviour", "error"), (MISBEHAVING | FLOODS).values(), ids=MISBEHAVING | FLOODS)
def test_a_call_of_a_server_that_misbehaves_ends_early(
    behaviour: Behaviour,
    error: str | None,
    api: Api,
    create: Create,
    private: None,
) -> None:
    start = time.monotonic()
    with receiver(behaviour) as one:
        data = tried(api, create(method="POST", serverUrl=one.url))
    assert data["error"] in (EARLY.get(error, {error}) if error else {None})
    assert time.monotonic() - start < 2


@one_of_each(way_of_spelling)
@pytest.mark.parametrize("spelling", SPELLINGS, ids=ascii)
def test_no_spelling_of_a_private_address_is_called(
    spelling: str,
    api: Api,
    create: Create,
    watch: Watch,
) -> None:
    data = tried(api, create(serverUrl=f"https://{spelling}:8443/"))
    assert "response" not in data
    assert data["error"]
    assert watch.sockets == 0


@one_of_each(lambda address: ":" in address)
@pytest.mark.parametrize("address", RESOLVED)
def test_no_private_address_is_called(
    address: str,
    api: Api,
    create: Create,
    watch: Watch,
    names: Callable[[Resolve], list[str]],
) -> None:
    names(lambda _: [address])
    literal = tried(api, create(serverUrl=f"https://[{address}]/" if ":" in address else f"https://{address}/"))
    resolved = tried(api, create(serverUrl="https://tools.cams.test/"))
    assert (literal["error"], resolved["error"]) == (
        "The URL must have a public address.",
        "The host resolves to an address that is not public.",
    )
    assert not {"response"} & (literal.keys() | resolved.keys())
    assert watch.sockets == 0


@pytest.mark.parametrize("addresses", MIXED.values(), ids=MIXED)
def test_no_host_with_a_private_address_is_called(
    addresses: list[str],
    api: Api,
    create: Create,
    watch: Watch,
    names: Callable[[Resolve], list[str]],
) -> None:
    names(lambda _: addresses)
    data = tried(api, create(serverUrl="https://tools.cams.test/"))
    assert data["error"] == "The host resolves to an address that is not public."
    assert watch.sockets == 0


def test_an_argument_cannot_lead_to_a_private_address(api: Api, create: Create, watch: Watch) -> None:
    path = create(serverUrl="https://{host}/", fields=[field("path", "host")])
    for host in ("127.0.0.1", "example.com:443@127.0.0.1", "[::1]"):
        data = api.post(path, {"arguments": {"host": host}}).data
        assert data["error"]
        assert "response" not in data
    assert watch.sockets == 0


def test_a_header_cannot_be_injected(api: Api, create: Create, private: None, watch: Watch) -> None:
    path = create(serverUrl="http://127.0.0.1:9/", fields=[field("header", "X-A")])
    data = api.post(path, {"arguments": {"X-A": "1\r\nX-B: 2"}}).data
    assert data["error"] == "A header has a reserved name or an invalid character."
    assert watch.sockets == 0


def test_a_request_without_time_left_makes_no_call(
    api: Api,
    create: Create,
    private: None,
    pass_time: PassTime,
    monkeypatch: pytest.MonkeyPatch,
    watch: Watch,
) -> None:
    path = create(serverUrl="http://127.0.0.1:9/")
    real = calls.build_request

    def slowly(*arguments: Any) -> Any:
        pass_time(10)
        return real(*arguments)

    monkeypatch.setattr(calls, "build_request", slowly)
    refused(api.post(path, {"arguments": {}}), 503)
    assert watch.sockets == 0


def test_a_call_leaves_time_for_the_commit_of_its_key(
    api: Api, create: Create, pass_time: PassTime, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[float] = []
    real = calls.build_request

    def slowly(*arguments: Any) -> Any:
        pass_time(5)
        return real(*arguments)

    def send(_: Any, __: Any, deadline: float) -> tuple[None, str, int]:
        given.append(deadline)
        return None, "Connection timed out.", 8000

    monkeypatch.setattr(calls, "build_request", slowly)
    monkeypatch.setattr(calls.sender, "send", send)
    assert api.post(create(serverUrl="https://tools.cams.test/"), {"arguments": {}}).status == 200
    assert given == [8.0]
