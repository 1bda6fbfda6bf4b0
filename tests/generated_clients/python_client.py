"""A customer's program that uses the installed Python client against a run of the service.

    python python_client.py <function> <address>

The program reads the workspace key from the environment variable `CAMS_KEY`, and fails at the first wrong result.
"""

import asyncio
import base64
import hashlib
import hmac
import http.client
import json
import os
import pickle
import queue
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import NamedTuple

import httpx
from cams_client import (
    ApiError,
    AsyncClient,
    Client,
    InvalidWebhook,
    NotModified,
    Retries,
    errors,
    export,
    export_async,
    iterate,
    iterate_async,
    models,
    verify_webhook,
)
from cams_client.api.agents import change_agent, delete_agent, read_agent, save_agent
from cams_client.api.clients import list_clients_v3, put_client
from cams_client.api.conversations import exchange_state, issue_visitor_token_at_edge
from cams_client.api.leads import create_lead, export_leads, list_leads
from cams_client.api.tools import create_tool, delete_tool, list_tools
from cams_client.api.webhooks import create_webhook, test_webhook

ADDRESS, KEY = sys.argv[2], os.environ["CAMS_KEY"]
FAST = Retries(base=0.01)


def pages() -> None:
    """Check that listing 1,000 leads in pages of 100 takes ten requests and returns each lead once."""
    with Client(ADDRESS, KEY) as client:
        save_agent.sync(client, "pages", body=models.AgentV2(title="Pages"))
    created, listed, read = asyncio.run(_create_and_list(1_000))
    assert len(created) == 1_000
    assert listed == Counter(created)
    with Client(ADDRESS, KEY, event_hooks={"response": [lambda answer: urls.append(answer.url)]}) as client:
        urls: list[httpx.URL] = []
        assert Counter(lead.id for lead in iterate(list_leads.sync, client, "pages")) == listed
        assert len(urls) == read == 10
        assert len(list(iterate(list_leads.sync, client, "pages", limit=7))) == 1_000
        assert len(urls) == 10 + 143
        ndjson = models.ExportFormat.NDJSON
        exported = list(export(export_leads.sync_detailed, client, agent_id="pages", format_=ndjson))
        lines = "".join(exported).splitlines()
        assert len(exported) >= 10
        assert Counter(json.loads(line)["id"] for line in lines) == listed


async def _create_and_list(number: int) -> tuple[set[object], Counter[object], int]:
    """Create and list leads; return the created ids, how often each id is listed, and the number of pages."""
    requested: list[httpx.URL] = []

    async def note(answer: httpx.Response) -> None:
        requested.append(answer.url)

    async with AsyncClient(ADDRESS, KEY) as client:
        left = iter(range(number))
        created: set[object] = set()

        async def create() -> None:
            for n in left:
                lead = models.Lead(agent_id="pages", name=f"Lead {n}")
                answer = await create_lead.asyncio(client, body=models.LeadIn(lead=lead))
                created.add(answer.data.id)

        await asyncio.gather(*(create() for _ in range(8)))
        client.event_hooks = {"response": [note]}
        csv = models.ExportFormat.CSV
        pages = [page async for page in export_async(export_leads.asyncio_detailed, client, format_=csv)]
        assert len("".join(pages).splitlines()) == number + 1
        requested.clear()
        listed = Counter[object]([lead.id async for lead in iterate_async(list_leads.asyncio, client, "pages")])
    return created, listed, len(requested)


class ProxiedRequest(NamedTuple):
    """A request that has reached the proxy."""

    method: str
    key: str | None


class Proxy(ThreadingHTTPServer):
    """Forwards requests to the service. Each entry in `faults` disturbs one request."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Passing)
        self.faults: list[str] = []
        self.requests: list[ProxiedRequest] = []

    @property
    def address(self) -> str:
        """Return the address as a URL."""
        return f"http://127.0.0.1:{self.server_port}"


class _Passing(BaseHTTPRequestHandler):
    """The fault `lost` drops the response, `cut` drops half of it, and `503` responds without calling the service."""

    server: Proxy

    def _pass_on(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.requests.append(ProxiedRequest(self.command, self.headers["Idempotency-Key"]))
        fault = self.server.faults.pop(0) if self.server.faults else ""
        self.close_connection = True
        if fault.isdecimal():
            self.send_response(int(fault))
            self.send_header("Retry-After", "0")
            self.end_headers()
            return
        service = http.client.HTTPConnection(ADDRESS.removeprefix("http://"))
        service.request(self.command, self.path, body, dict(self.headers))
        answer = service.getresponse()
        content = answer.read()
        if fault == "lost":
            return
        self.send_response(answer.status)
        for name, value in answer.getheaders():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content[: len(content) // 2] if fault == "cut" else content)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _pass_on

    def log_message(self, *arguments: object) -> None:
        """Log nothing."""


@contextmanager
def serving(server: ThreadingHTTPServer) -> Iterator[None]:
    """Run the server in a thread for the duration of the block."""
    Thread(target=server.serve_forever, daemon=True).start()
    yield
    server.shutdown()
    server.server_close()


def retries() -> None:
    """Check that retried writes take effect once, and that requests with a final response are sent only once."""
    proxy = Proxy()
    with serving(proxy), Client(proxy.address, KEY, retries=FAST) as client:
        save_agent.sync(client, "retries", body=models.AgentV2(title="Retries"))
        for number, faults in enumerate((["lost"], ["cut"], ["503", "429", "502"], ["lost", "cut", "lost"])):
            proxy.requests.clear()
            proxy.faults = list(faults)
            _create_tool(client, f"tool {number}")
            assert len(proxy.requests) == len(faults) + 1
            assert len({sent.key for sent in proxy.requests}) == 1 and proxy.requests[0].key
        assert _tools(client) == Counter(f"tool {number}" for number in range(4))
        _test_that_a_put_creates_one(client, proxy)
        _test_that_a_visitor_sends_no_key(client, proxy)
        _test_that_a_change_is_repeated(client, proxy)
        _test_that_a_deletion_is_repeated(client, proxy)
        _test_the_last_attempt(client, proxy)
        _test_that_a_limit_is_final(client, proxy)
        asyncio.run(_test_an_asynchronous_write(proxy))
        _test_without_retries(proxy)
    _test_the_pauses()


def _create_tool(client: Client, name: str) -> None:
    create_tool.sync(client, "retries", body=models.ToolIn(tool=models.NewTool(name=name)))


def _tools(client: Client) -> Counter[object]:
    return Counter(tool.name for tool in iterate(list_tools.sync, client, "retries"))


def _test_that_a_put_creates_one(client: Client, proxy: Proxy) -> None:
    proxy.faults = ["lost"]
    created = put_client.sync(client, body=models.Client(name="Ann"))
    assert [one.id for one in iterate(list_clients_v3.sync, client)] == [created.data.id]


def _test_that_a_visitor_sends_no_key(client: Client, proxy: Proxy) -> None:
    settings = models.VisitorTokenIn(token=models.NewVisitorToken())
    issued = issue_visitor_token_at_edge.sync(client, "retries", "visitor", body=settings)
    proxy.requests.clear()
    proxy.faults = ["lost"]
    with Client(proxy.address, issued.data.token, retries=FAST) as visitor:
        exchange_state.sync(visitor, "retries", "visitor", body=models.StateIn())
    assert proxy.requests == [ProxiedRequest("POST", None)] * 2


def _test_that_a_change_is_repeated(client: Client, proxy: Proxy) -> None:
    tag = read_agent.sync_detailed(client, "retries").etag
    proxy.faults = ["lost"]
    change = models.AgentIn(agent=models.AgentV3(title="Changed"))
    changed = change_agent.sync_detailed(client, "retries", body=change, if_match=tag)
    assert changed.parsed.data.title == "Changed"  # without the idempotency key, the retry would get a 412
    assert changed.headers["Idempotency-Replayed"] == "true"
    try:
        read_agent.sync(client, "retries", if_none_match=changed.etag)
    except NotModified:
        return
    raise AssertionError("the client raised no error for a 304 response")


def _test_that_a_deletion_is_repeated(client: Client, proxy: Proxy) -> None:
    save_agent.sync(client, "deleted", body=models.AgentV2(title="Deleted"))
    proxy.faults = ["503"]
    delete_agent.sync(client, "deleted")
    assert refusal(lambda: read_agent.sync(client, "deleted")) is errors.NotFound
    tools = [tool.id for tool in iterate(list_tools.sync, client, "retries")]
    proxy.faults = ["lost"]
    assert refusal(lambda: delete_tool.sync(client, str(tools[0]))) is errors.NotFound
    assert sum(_tools(client).values()) == len(tools) - 1


def _test_the_last_attempt(client: Client, proxy: Proxy) -> None:
    proxy.requests.clear()
    proxy.faults = ["lost"] * 4
    try:
        _create_tool(client, "unknown")
    except httpx.TransportError:
        assert len(proxy.requests) == 4
    else:
        raise AssertionError("the client raised no error after the last attempt")
    proxy.faults = ["503"] * 4
    assert refusal(lambda: _create_tool(client, "busy")) is ApiError  # the proxy's 503 has no envelope
    assert _tools(client)["unknown"] == 1


def _test_that_a_limit_is_final(client: Client, proxy: Proxy) -> None:
    limits = models.Limits(max_interactions_per_user_id=1)
    change_agent.sync(client, "retries", body=models.AgentIn(agent=models.AgentV3(limits=limits)))
    proxy.requests.clear()
    turn = models.TurnIn(from_="human", messages=[models.Message(), models.Message()])
    talk = models.StateIn(turns=[turn])
    assert refusal(lambda: exchange_state.sync(client, "retries", "ann", body=talk)) is errors.LimitReached
    assert len(proxy.requests) == 1


async def _test_an_asynchronous_write(proxy: Proxy) -> None:
    async with AsyncClient(proxy.address, KEY, retries=FAST) as client:
        proxy.faults = ["lost", "cut", "503"]
        body = models.ToolIn(tool=models.NewTool(name="asynchronous"))
        await create_tool.asyncio(client, "retries", body=body)
        names = [tool.name async for tool in iterate_async(list_tools.asyncio, client, "retries")]
    assert names.count("asynchronous") == 1


def _test_without_retries(proxy: Proxy) -> None:
    proxy.requests.clear()
    proxy.faults = ["lost"]
    with Client(proxy.address, KEY, retries=Retries(attempts=1)) as client:
        try:
            _create_tool(client, "once")
        except httpx.TransportError:
            assert proxy.requests == [ProxiedRequest("POST", None)]
            return
    raise AssertionError("the client retried the request")


def _test_the_pauses() -> None:
    def answer(status: int, **headers: str) -> httpx.Response:
        return httpx.Response(status, headers={name.replace("_", "-"): value for name, value in headers.items()})

    policy, busy = Retries(base=0), answer(503, Retry_After="7")
    assert [policy.pause(attempt, busy) for attempt in (1, 2, 3, 4)] == [7, 7, 7, None]
    assert [policy.pause(1, answer(429, Retry_After=seconds)) for seconds in ("30", "31")] == [30, None]
    assert [policy.pause(1, answer(status)) for status in (200, 404, 409, 429, 500, 502, 504)] == [None] * 5 + [0, 0]
    for attempt, most in ((1, 0.5), (2, 1), (3, 2)):
        pauses = {Retries().pause(attempt, httpx.ConnectError("")) or 0 for _ in range(100)}
        assert most / 2 < max(pauses) <= most and min(pauses) < most / 2
    assert max(Retries(attempts=99).pause(50, httpx.ReadTimeout("")) or 0 for _ in range(100)) <= 30


def refusal(call: object) -> type[ApiError]:
    """Make a call that must raise an API error; return the error's class."""
    assert callable(call)
    try:
        call()
    except ApiError as error:
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again)) == (type(error), str(error))
        assert KEY not in f"{error!r} {error}"
        return type(error)
    raise AssertionError("the call raised no error")


class _Receiver(ThreadingHTTPServer):
    """Puts each request into a queue."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Receiving)
        self.received: queue.Queue[tuple[bytes, dict[str, str]]] = queue.Queue()


class _Receiving(BaseHTTPRequestHandler):
    server: _Receiver

    def do_POST(self) -> None:
        """Respond with 200."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received.put((body, dict(self.headers)))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *arguments: object) -> None:
        """Log nothing."""


def webhooks() -> None:
    """Check that the client verifies the service's webhooks and rejects all other requests."""
    receiver = _Receiver()
    with serving(receiver), Client(ADDRESS, KEY) as client:
        url = f"http://127.0.0.1:{receiver.server_port}/"
        webhook = models.NewWebhook(url=url, events=[models.EventType.AGENT_CREATED])
        endpoint = create_webhook.sync(client, body=models.WebhookIn(webhook=webhook)).data
        test_webhook.sync(client, endpoint.id)
        body, headers = receiver.received.get(timeout=30)
    secret = endpoint.signing_secret
    assert isinstance(secret, str)
    event = verify_webhook(body, headers, secret)
    assert event.type == models.EventType.WEBHOOK_TEST
    assert event.payload["workspaceSecret"].startswith("cams_events_")
    assert verify_webhook(body, {name.lower(): value for name, value in headers.items()}, secret) == event
    rotated = {**headers, "webhook-signature": f"v1,AAAA {signature(body, headers, secret)}"}
    assert verify_webhook(body, {name.lower(): value for name, value in rotated.items()}, secret) == event
    _test_forgeries(body, {name.lower(): value for name, value in headers.items()}, secret)


def _test_forgeries(body: bytes, headers: dict[str, str], secret: str) -> None:
    other = "whsec_" + base64.b64encode(bytes(32)).decode()
    old, early = ({**headers, "webhook-timestamp": str(int(time.time()) + seconds)} for seconds in (-301, 302))
    forged = [
        (body + b" ", headers, secret),
        (body, headers, other),
        (body, {**headers, "webhook-id": "another"}, secret),
        (body, {**headers, "webhook-timestamp": "soon"}, secret),
        (body, {**headers, "webhook-signature": ""}, secret),
        (body, {**headers, "webhook-signature": "v1,ü"}, secret),
        (body, {name: value for name, value in headers.items() if name != "webhook-signature"}, secret),
        (body, {}, secret),
        *((body, {**one, "webhook-signature": signature(body, one, secret)}, secret) for one in (old, early)),
    ]
    for case in forged:
        try:
            verify_webhook(*case)
        except InvalidWebhook:
            continue
        raise AssertionError(f"the client accepted the request: {case[1]}")


def signature(body: bytes, headers: dict[str, str], secret: str) -> str:
    """Return a body's signature. The function uses only the published standard, and no code from the client."""
    values = {name.lower(): value for name, value in headers.items()}
    signed = f"{values['webhook-id']}.{values['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


if __name__ == "__main__":
    {"pages": pages, "retries": retries, "webhooks": webhooks}[sys.argv[1]]()
