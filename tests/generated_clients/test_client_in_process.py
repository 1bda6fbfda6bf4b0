"""The Python client's own rules: retries, keys, errors, records and logs. It calls the service without a network."""

import asyncio
import base64
import hmac
import inspect
import json
import logging
import pickle
import re
import sys
import time
import traceback
from collections.abc import Callable, Iterator
from itertools import cycle, pairwise, repeat
from typing import Any, Literal, get_origin

import httpx
import pytest

from chalicelib import extensions
from chalicelib.workspaces.store import NewWorkspace
from infra.client import build
from infra.client.names import AT_EDGE, OF_OTHER_CLIENTS
from tests.generated_clients.in_process import Service, load_package
from tests.openapi.document import operations
from tests.selection import whole

pytestmark = pytest.mark.skipif(sys.version_info < (3, 11), reason="NOT TESTED: the Python client needs Python 3.11.")

EVERY_FIFTH = (None, None, None, None, "lost")
HTML = httpx.Response(502, html="<h1>Bad Gateway</h1>")
Connect = Callable[..., Any]


@pytest.fixture(scope="module")
def cams(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """Return the generated package."""
    return load_package(tmp_path_factory.mktemp("package"))


@pytest.fixture
def connect(cams: Any, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch) -> Connect:
    """Return a function that creates a client with a transport. Its pauses take no time."""
    monkeypatch.setattr(cams._http, "_LONGEST", 0.0)

    def create(service: Service, **options: Any) -> Any:
        options = {"api_key": workspace.workspace_key, "url": "https://cams.test/", **options}
        return cams.Client(http_client=httpx.Client(transport=service), **options)

    return create


@pytest.fixture
def client(connect: Connect) -> Any:
    """Return a client whose responses are never lost."""
    return connect(Service())


@pytest.fixture
def agent(client: Any) -> Any:
    """Return a new agent."""
    return client.agents.create(title="Support")


def test_the_client_has_at_most_160_models(cams: Any) -> None:
    """Models are the classes and enumerations in `models`. Both forms of a record are one class."""
    names = {name for name, one in vars(cams.models).items() if inspect.isclass(one) or get_origin(one) is Literal}
    models = names - {"Any", "Literal", "Record"}
    assert {"Agent", "Message", "Platform"} < models
    assert not [name for name in models if name.endswith("Input")]
    assert len(models) <= 160


def stale() -> httpx.Response:
    return httpx.Response(409, json={"success": False, "code": "STALE", "message": "The record has changed."})


def test_appends_whose_fifth_responses_are_lost_are_stored_once_and_in_order(connect: Connect, agent: Any) -> None:
    service = Service(cycle(EVERY_FIFTH))
    conversation = connect(service).conversations(agent.id, "ann")

    sent = [conversation.messages.add(f"message {number}")[0] for number in range(40)]

    stored = list(conversation.messages.list())[::-1]
    assert [message.item["text"] for message in stored] == [f"message {number}" for number in range(40)]
    assert [message.mid for message in stored] == [message.mid for message in sent]
    assert len(service.requests) > 45
    assert set(service.keys) == {None}


def test_a_stale_append_is_sent_again_with_the_same_mids(connect: Connect, agent: Any) -> None:
    service = Service([stale(), stale()])

    connect(service).conversations(agent.id, "ann").messages.add("Hello", {"from": "bot", "mid": "m-2"})

    assert len(service.requests) == 3
    assert len({request.content for request in service.requests}) == 1


def test_a_reply_to_an_outdated_message_is_rejected_with_the_newest(cams: Any, agent: Any, client: Any) -> None:
    messages = client.conversations(agent.id, "ann").messages
    first, second = messages.add("Hello", "Are you there?")
    with pytest.raises(cams.errors.Outdated) as caught:
        messages.add("Yes.", from_="bot", in_reply_to=first.mid)
    assert caught.value.conversation.newest.mid == second.mid
    assert messages.add("Yes.", from_="bot", in_reply_to=second.mid)[0].from_ == "bot"


def test_a_message_grows_under_one_mid(client: Any, agent: Any) -> None:
    messages = client.conversations(agent.id, "ann").messages
    for text in ("He", "Hello"):
        messages.add({"mid": "m-1", "from": "bot", "item": {"text": text}}, replace=True)
    assert [message.item for message in messages.list()] == [{"text": "Hello"}]


def test_an_append_can_require_a_new_conversation(cams: Any, client: Any, agent: Any) -> None:
    messages = client.conversations(agent.id, "ann").messages
    messages.add("Hello", if_none_match="*")
    with pytest.raises(cams.errors.PreconditionFailed):
        messages.add("Hello", if_none_match="*")


@pytest.mark.parametrize("options", [{}, {"in_reply_to": "m-1"}, {"if_match": None}])
def test_an_append_with_a_condition_takes_effect_once_if_its_response_is_lost(
    options: dict[str, Any], connect: Connect, client: Any, agent: Any
) -> None:
    conversation = client.conversations(agent.id, "ann")
    conversation.messages.add({"mid": "m-1", "from": "human", "item": {"text": "Hello"}})
    if "if_match" in options:
        options = {"if_match": conversation.retrieve().etag}
    connect(Service(["lost"])).conversations(agent.id, "ann").messages.add("Yes.", from_="bot", **options)
    assert len(list(conversation.messages.list())) == 2


def test_a_write_that_returns_messages_is_sent_immediately(client: Any, agent: Any) -> None:
    conversation = client.conversations(agent.id, "ann")
    conversation.messages.add("Hello")
    turns = [{"messages": [{"from": "human", "item": {"text": "Bye"}}]}]
    replaced = conversation.messages.replace(turns=turns)
    assert [message.item for message in conversation.messages.list()] == [{"text": "Bye"}]
    assert [message.item for message in replaced] == [{"text": "Bye"}]


def test_a_stale_state_is_not_sent_again(cams: Any, connect: Connect, agent: Any) -> None:
    service = Service([stale()])
    with pytest.raises(cams.errors.Stale):
        connect(service).conversations(agent.id, "ann").state(turns=[])
    assert len(service.requests) == 1


@pytest.mark.parametrize(
    ("has_key", "call"),
    [
        (True, lambda client, agent: client.agents.create(title="Sales")),
        (True, lambda client, agent: client.tools.create(agent.id, name="hotels")),
        (True, lambda client, agent: client.agents.update(agent.id, title="Sales", if_match=agent.etag)),
        (True, lambda client, agent: client.conversations(agent.id, "ann").state(turns=[])),
        (False, lambda client, agent: client.agents.update(agent.id, title="Sales")),
        (False, lambda client, agent: client.organisations.save("acme", name="Acme")),
        (False, lambda client, agent: client.conversations(agent.id, "ann").state()),
        (True, lambda client, agent: client.conversations(agent.id, "ann").messages.add("Hello", if_match="*")),
        (True, lambda client, agent: client.conversations(agent.id, "eve").messages.add("Hi", if_none_match="*")),
        (False, lambda client, agent: client.conversations(agent.id, "ann").messages.add("Hello", replace=True)),
    ],
)
def test_a_lost_write_has_a_key_only_if_a_repeat_would_take_effect(
    has_key: bool, call: Any, connect: Connect, agent: Any
) -> None:
    connect(Service()).conversations(agent.id, "ann").messages.add("Hi")
    service = Service(["lost"])

    call(connect(service), agent)

    assert len(service.requests) == 2
    assert len(set(service.keys)) == 1
    assert (service.keys[0] is not None) == has_key


def test_a_creation_whose_response_is_lost_creates_one_record(connect: Connect, agent: Any, client: Any) -> None:
    connect(Service(["lost", HTML, "lost"])).tools.create(agent.id, name="hotels")
    assert [tool.name for tool in client.tools.list(agent.id)] == ["hotels"]


def test_a_visitor_sends_no_key(connect: Connect, agent: Any, client: Any) -> None:
    client.conversations(agent.id, "ann").messages.add("Hello")
    token = client.conversations(agent.id, "ann").issue_visitor_token().token
    service = Service(["lost"])
    connect(service, api_key=token).conversations(agent.id, "ann").state(metadata={"userName": "Ann"}, if_match="*")
    assert service.keys == [None, None]


def test_agent_keys_use_the_edge_and_access_tokens_v3(connect: Connect, agent: Any, client: Any) -> None:
    created = client.conversations.create(agent.id, title="Ann")
    token = client.tokens.issue(name="Bot").token
    for key, start in ((token, "/v3/agents/"), (agent.secret_api_key, "/agents/")):
        service = Service()
        conversation = connect(service, api_key=key).conversations(agent.id, created.id)
        conversation.messages.add("Hello")
        assert conversation.issue_visitor_token(expires_in_seconds=60).token
        assert [request.url.path.startswith(start) for request in service.requests] == [True, True]


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


def test_no_representation_contains_a_secret(client: Any, agent: Any, workspace: NewWorkspace) -> None:
    assert agent.secret_api_key.startswith("cams_agent_")
    shown = f"{client!r} {client.conversations!r} {agent!r} {client.webhooks.__dict__}"
    assert "url='https://cams.test'" in shown and "title='Support'" in shown
    assert "secret_api_key=…" in shown
    assert agent.secret_api_key not in shown and workspace.workspace_key not in shown
    page = client.agents.list().first_page()
    assert page.body["data"][0]["SECRET_API_KEY"] == agent.secret_api_key
    assert "title='Support'" in repr(page) and agent.secret_api_key not in repr(page)


def test_a_record_has_typed_members_and_keeps_unknown_ones(cams: Any, client: Any) -> None:
    limits = cams.models.Limits(max_interactions_per_user_id=2)
    agent = client.agents.create(title="Support", limits=limits, nodes=[{"id": "start", "toolsIds": []}])
    agent = client.agents.retrieve(agent.id)
    assert (agent.limits, agent.nodes[0].tools_ids, agent.description) == (limits, [], None)
    assert type(agent.limits) is cams.models.Limits
    assert cams.models.Agent.from_dict({"title": "A", "later": 1}).to_dict() == {"title": "A", "later": 1}
    assert pickle.loads(pickle.dumps(agent)) == agent
    with pytest.raises(AttributeError, match="immutable"):
        agent.title = "Other"
    with pytest.raises(TypeError, match="no member titel"):
        client.agents.create(titel="Support")


def test_names_are_those_that_a_person_would_choose(cams: Any, client: Any) -> None:
    organisation = cams.models.Organisation.from_dict({"widgetIDs": ["a"], "ID": "acme"})
    assert (organisation.widget_ids, organisation.id) == (["a"], "acme")
    assert "default_llm_options" in cams.models.NodesSettings._members
    assert "ui_handoff_title" in cams.models.Agent._members
    records = [record for record in vars(cams.models).values() if inspect.isclass(record) and record.__doc__]
    own = {"etag", "request_id", "to_dict", "from_dict"}
    assert not [record for record in records if own & getattr(record, "_members", {}).keys()]
    assert not [name for name in vars(client) if "_" in name.strip("_")]
    assert hasattr(cams._sync.resources.Analytics, "list") == extensions.has("analytics_records")


def test_docstrings_list_the_credentials_of_both_routes(cams: Any) -> None:
    text = " ".join(inspect.getdoc(cams._sync.resources.Messages.list).split())
    assert re.search(r"Credentials: workspace key or agent key \S+ or .*access token with the scope", text)


def test_docstrings_are_wrapped_once(cams: Any) -> None:
    lines = inspect.getdoc(cams._sync.resources.Messages.list).splitlines()
    paragraphs = [line for line in lines[: lines.index("Args:")] if line]
    followed = [line for line, following in pairwise(lines) if following and line in paragraphs]
    assert len(followed) >= 4
    assert not [line for line in followed if len(line) < 80]


def test_a_preconditions_etag_comes_from_the_record(cams: Any, client: Any, agent: Any) -> None:
    changed = client.agents.update(agent.id, title="Sales", if_match=agent.etag)
    assert changed.etag != agent.etag
    with pytest.raises(cams.errors.PreconditionFailed):
        client.agents.update(agent.id, title="Other", if_match=agent.etag)
    with pytest.raises(cams.NotModified):
        client.agents.retrieve(agent.id, if_none_match=changed.etag)


def test_a_list_is_read_page_by_page(connect: Connect, agent: Any, client: Any) -> None:
    client.conversations(agent.id, "ann").messages.add(*map(str, range(25)))
    service = Service()
    messages = connect(service).conversations(agent.id, "ann").messages

    assert [message.item["text"] for message in messages.list(limit=10)] == [*map(str, reversed(range(25)))]
    assert len(service.requests) == 3
    page = messages.list(limit=10).first_page()
    assert (len(page.data), page.body["hasMore"]) == (10, True)
    assert len(messages.list(limit=10, cursor=page.next_cursor).first_page().data) == 10
    assert [len(page.data) for page in messages.list(limit=10).pages()] == [10, 10, 5]


@pytest.mark.skipif(not extensions.has("adapters"), reason="the extension adapters is off")
def test_an_agent_key_and_an_access_token_store_a_session(
    connect: Connect, agent: Any, client: Any, workspace: NewWorkspace
) -> None:
    service = Service()
    session = connect(service, api_key=agent.secret_api_key).conversations(agent.id, "ann")
    session.messages.add(*map(str, range(25)))
    whole = [*session.messages.list(order="asc")]
    assert ([message.item["text"] for message in whole], len(service.requests)) == ([*map(str, range(25))], 2)
    session.messages.delete(whole[-1].mid)
    (newest,) = session.messages.list(limit=1).first_page().data
    assert newest.mid == whole[-2].mid
    assert session.messages.list(after="").first_page().body["reset"] is True
    session.delete()
    token = connect(service, api_key=workspace.access_token).conversations(agent.id, "ann")
    assert token.save(title="Order").messages_num == 0
    assert token.save(title="Another").title == client.conversations(agent.id, "ann").retrieve().title


def test_an_export_is_one_file(client: Any, agent: Any) -> None:
    for number in range(3):
        client.leads.create(agent_id=agent.id, name=f"Lead {number}")
    pages = list(client.leads.export(format="ndjson", limit=2))
    assert len(pages) == 2
    assert [json.loads(line)["name"] for line in "".join(pages).splitlines()] == ["Lead 2", "Lead 1", "Lead 0"]


def test_the_asynchronous_client_does_the_same(cams: Any, workspace: NewWorkspace, connect: Connect) -> None:
    service = Service(cycle(EVERY_FIFTH))

    async def story() -> list[str]:
        http = httpx.AsyncClient(transport=service)
        async with cams.AsyncClient(
            api_key=workspace.workspace_key, url="https://cams.test", http_client=http
        ) as client:
            agent = await client.agents.create(title="Support")
            messages = client.conversations(agent.id, "ann").messages
            for number in range(10):
                await messages.add(str(number))
            return [message.item["text"] async for message in messages.list(limit=4)]

    assert asyncio.run(story()) == [*map(str, reversed(range(10)))]


@whole
def test_both_clients_have_every_operation_once(cams: Any) -> None:
    methods = {}
    for package in (cams._async, cams._sync):
        classes = [item for name, item in vars(package.resources).items() if inspect.isclass(item)]
        own = [item for item in classes if item.__module__ == package.resources.__name__]
        methods[package] = {
            f"{item.__name__.removeprefix('Async')}.{name}"
            for item in own
            for name in vars(item)
            if not name.startswith("__")
        }
    assert methods[cams._async] == methods[cams._sync]
    by_hand = {"Conversation.messages", "Resources.__init__"}
    own = [one for one in operations() if one.description.get("x-extension") not in OF_OTHER_CLIENTS]
    assert len(methods[cams._sync] - by_hand) == len(own) - len({"add", *AT_EDGE})
    assert {"Agents.create", "Messages.list", "Tokens.issue"} < methods[cams._sync]
    assert hasattr(cams._sync.resources.Messages, "add")


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


def test_a_webhook_needs_a_secret(cams: Any) -> None:
    """Anyone can compute the signature for an empty key."""
    headers = {"webhook-id": "e-1", "webhook-timestamp": str(int(time.time())), "webhook-signature": "v1,AAAA"}
    for secret in ("", "whsec_", "whsec_?"):
        with pytest.raises(ValueError):
            cams.verify_webhook(b"{}", headers, secret)


def test_a_verified_event_has_a_typed_payload(cams: Any) -> None:
    secret = b"a signing secret"
    payload = {"leadName": "Ann", "agentId": "support"}

    def receive(kind: str, as_text: bool = False) -> Any:
        body = json.dumps({"type": kind, "payload": payload}).encode()
        headers = {"webhook-id": "e-1", "cams-message-id": "m%C3%BC-1", "webhook-timestamp": str(int(time.time()))}
        signed = b"e-1." + headers["webhook-timestamp"].encode() + b"." + body
        headers["webhook-signature"] = "v1," + base64.b64encode(hmac.digest(secret, signed, "sha256")).decode()
        received = body.decode() if as_text else body
        return cams.verify_webhook(received, headers, f"whsec_{base64.b64encode(secret).decode()}")

    event = receive("lead_captured")
    assert isinstance(event, cams.events.LeadCaptured)
    assert (event.id, event.type, event.payload.lead_name, event.payload.agent_id) == (
        "e-1",
        "lead_captured",
        "Ann",
        "support",
    )
    assert event.message_id == "mü-1"
    assert receive("lead_captured", as_text=True) == event
    later = receive("a_later_type")
    assert later.payload == payload
    assert "Ann" not in repr(later)


def test_the_modules_by_hand_have_at_most_800_lines() -> None:
    """The sessions of agent frameworks have their own limit, in `test_sessions`."""
    package = build.SOURCE / "cams"
    sessions = {package / "_async/transcript.py", *package.glob("sessions/*.py")}
    files = {*package.rglob("*.py")} - sessions
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files) <= 800


@pytest.fixture(scope="module", autouse=True)
def _no_package_remains() -> Iterator[None]:
    """Remove the imported package at the end, so that other tests import the installed one."""
    yield
    for name in [name for name in sys.modules if name.split(".")[0] == "cams"]:
        del sys.modules[name]
