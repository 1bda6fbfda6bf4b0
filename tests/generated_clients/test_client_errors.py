"""The Python client's errors, settings and logs. It calls the service without a network."""

import logging
import pickle
import sys
import traceback
from itertools import repeat
from typing import Any

import httpx
import pytest

from chalicelib.workspaces.store import NewWorkspace
from tests.generated_clients.in_process import HTML, Connect, Service

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="NOT TESTED: the Python client needs Python 3.11.")


def test_an_error_contains_code_request_id_and_issues(cams: Any, client: Any) -> None:
    with pytest.raises(cams.errors.Invalid) as caught:
        client.agents.list(limit=0).first_page()
    error = caught.value
    assert isinstance(error, cams.ApiError) and isinstance(error, cams.Error)
    assert (error.status, error.code) == (400, "INVALID")
    assert [issue.path for issue in error.issues] == ["limit"]
    assert error.request_id and error.request_id in str(error) and "limit:" in repr(error)
    again = pickle.loads(pickle.dumps(error))
    assert (type(again), str(again)) == (type(error), str(error))


@pytest.mark.parametrize(
    "response",
    [
        HTML,
        httpx.Response(200, text="<html>"),
        httpx.Response(200, json=[1]),
        httpx.Response(200, json={"status": "ok"}),
        httpx.Response(200, json={"success": True, "data": [1]}),
        httpx.Response(302, headers={"Location": "https://example.com/"}),
        httpx.Response(403, json={"code": ["A"], "message": "Forbidden"}),
        httpx.Response(200),
    ],
)
def test_a_response_that_is_no_json_object_raises_our_own_error(
    response: httpx.Response, cams: Any, connect: Connect
) -> None:
    with pytest.raises(cams.InvalidResponse, match="INVALID_RESPONSE") as caught:
        connect(Service(repeat(response))).agents.retrieve("support")
    assert caught.value.status == response.status_code
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_response_without_a_list_raises_our_own_error(cams: Any, connect: Connect) -> None:
    with pytest.raises(cams.InvalidResponse):
        connect(Service([httpx.Response(200, json={"status": "ok"})])).agents.list().first_page()


@pytest.mark.parametrize(("retries", "requests"), [(None, 7), (1, 2), (0, 1)])
def test_without_a_response_the_client_raises_no_response(
    retries: int | None, requests: int, cams: Any, connect: Connect
) -> None:
    service = Service(repeat("lost"))
    with pytest.raises(cams.NoResponse, match=f"after {requests} attempts") as caught:
        connect(service).with_options(retries=retries).agents.retrieve("support")
    assert isinstance(caught.value.__cause__, httpx.ReadError)
    assert len(service.requests) == requests


def test_options_apply_to_the_calls_that_follow(connect: Connect, cams: Any) -> None:
    service = Service()
    client = connect(service)
    with pytest.raises(cams.errors.Unauthorized):
        client.with_options(api_key="other", timeout=5).agents.list().first_page()
    client.agents.list().first_page()
    assert [request.extensions["timeout"]["read"] for request in service.requests] == [5, 30]
    assert "other" in service.requests[0].headers["Authorization"]
    assert "other" not in service.requests[1].headers["Authorization"]


@pytest.mark.parametrize(
    ("status", "retry_after", "pauses"),
    [
        (503, "7", 7),
        (429, "30", 30),
        (429, "31", None),
        (429, "", None),
        (502, "", 0),
        (504, "soon", 0),
        (503, "Wed, 21 Oct 2015 07:28:00 GMT", 0),
        (503, "Wed, 21 Oct 2115 07:28:00 GMT", None),
        (500, "", None),
    ],
)
def test_only_busy_and_unavailable_services_are_asked_again(
    status: int, retry_after: str, pauses: float | None, cams: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cams._http, "_BASE", 0)
    response = httpx.Response(status, headers={"Retry-After": retry_after} if retry_after else {})
    assert cams._http.pause(cams._http.Call("GET", "/"), 1, response) == pauses


@pytest.mark.parametrize(("attempt", "longest"), [(1, 0.5), (2, 1), (3, 2), (5, 8), (9, 8)])
def test_pauses_grow_to_eight_seconds(attempt: int, longest: float, cams: Any) -> None:
    call = cams._http.Call("GET", "/")
    pauses = [cams._http.pause(call, attempt, httpx.ConnectError("")) for _ in range(100)]
    assert longest / 2 < max(pauses) <= longest
    assert min(pauses) < longest / 2


@pytest.mark.parametrize("name", ["", ".", ".."])
def test_an_id_that_http_removes_from_a_path_is_rejected(name: str, client: Any) -> None:
    """If the client sent `..`, deleting a conversation with this id would delete its agent."""
    with pytest.raises(ValueError, match=r"cannot be empty, '\.' or '\.\.'"):
        client.conversations("support", name).delete()


def test_key_and_address_come_from_the_environment(cams: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CAMS_URL", raising=False)
    monkeypatch.setenv("CAMS_API_KEY", "key")
    with pytest.raises(cams.Error, match="Pass url, or set the environment variable CAMS_URL"):
        cams.Client()
    monkeypatch.setenv("CAMS_URL", "https://cams.example.com/")
    assert repr(cams.Client()) == "Client(url='https://cams.example.com')"


@pytest.mark.parametrize("key", ["cams_a-key\n", "cams_a-key ", "cams_a-keyü", " "])
def test_a_key_that_no_header_can_contain_is_rejected_without_showing_it(key: str, client: Any, cams: Any) -> None:
    """The error of the HTTP library would show the key in tracebacks."""
    for create in (lambda: cams.Client(api_key=key, url="https://cams.test"), lambda: client.with_options(api_key=key)):
        with pytest.raises(cams.Error, match="The api_key is invalid") as caught:
            create()
        assert "a-key" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    "url", ["cams.test", "localhost:8000", "https://", "https://cams.test:port", "ftp://cams.test"]
)
def test_an_invalid_address_is_rejected(url: str, cams: Any) -> None:
    with pytest.raises(cams.Error, match="The url is invalid"):
        cams.Client(api_key="key", url=url)


def test_a_response_that_cannot_be_decompressed_raises_no_response(cams: Any) -> None:
    headers = {"Content-Encoding": "gzip"}
    transport = httpx.MockTransport(lambda _: httpx.Response(200, headers=headers, stream=httpx.ByteStream(b"<html>")))
    client = cams.Client(api_key="key", url="https://cams.test", http_client=httpx.Client(transport=transport))
    with pytest.raises(cams.NoResponse, match="DecodingError"):
        client.agents.retrieve("support")


def test_a_redirection_is_not_followed_to_another_server(cams: Any) -> None:
    """The body may contain credentials, even if the HTTP library removes the key."""
    hosts = []

    def redirect(request: httpx.Request) -> httpx.Response:
        hosts.append(request.url.host)
        return httpx.Response(307, headers={"Location": "https://example.com/"})

    http = httpx.Client(transport=httpx.MockTransport(redirect), follow_redirects=True)
    with pytest.raises(cams.InvalidResponse):
        cams.Client(api_key="key", url="https://cams.test", http_client=http).agents.create(title="Support")
    assert hosts == ["cams.test"]


def test_the_log_names_no_ids_and_no_key(
    connect: Connect, agent: Any, workspace: NewWorkspace, caplog: pytest.LogCaptureFixture
) -> None:
    service = Service(["lost"])
    with caplog.at_level(logging.DEBUG, "cams"):
        connect(service).conversations(agent.id, "ann@example.com").messages.add("a private text")
        connect(Service()).agents.update(agent.id, title="Sales", tools=[])
    lines = [f"{record.levelname} {record.getMessage()}" for record in caplog.records if record.name == "cams"]
    assert any(line.startswith("INFO POST /agents/{agent_id}/interact") and "ReadError" in line for line in lines)
    assert any(line.startswith("DEBUG PATCH /v3/agents/{agent_id}: 200, request ") for line in lines)
    assert any(line.startswith("WARNING PATCH /v3/agents/{agent_id}: ") and "tools" in line for line in lines)
    for private in (agent.id, "example", "private", workspace.workspace_key):
        assert private not in "\n".join(lines)
