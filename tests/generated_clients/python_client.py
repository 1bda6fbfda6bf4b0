"""A customer's program that uses the installed Python client against a run of the service.

    python python_client.py <function> <address>

The program reads the workspace key from the environment variable `CAMS_API_KEY`, and fails at the first wrong result.
"""

import asyncio
import base64
import hashlib
import hmac
import json
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import cams
import httpx

from tests.generated_clients.servers import Proxy, Receiver, serving

WRITERS = 4


def pages(address: str) -> None:
    """Check that listing 1,000 leads in pages of 100 takes ten requests and returns each lead once."""
    with cams.Client(url=address) as client:
        client.agents.save("pages", title="Pages")
    created, listed = asyncio.run(_create_and_list(address, 1_000))
    assert len(created) == 1_000
    assert listed == Counter(created)
    urls: list[httpx.URL] = []
    http = httpx.Client(event_hooks={"response": [lambda answer: urls.append(answer.url)]})
    with cams.Client(url=address, http_client=http) as client:
        assert Counter(lead.id for lead in client.leads.list_by_agent("pages")) == listed
        assert len(urls) == 10
        assert len(list(client.leads.list_by_agent("pages", limit=7))) == 1_000
        assert len(urls) == 10 + 143
        exported = list(client.leads.export(agent_id="pages", format="ndjson"))
        lines = "".join(exported).splitlines()
        assert len(exported) >= 10
        assert Counter(json.loads(line)["id"] for line in lines) == listed


async def _create_and_list(address: str, number: int) -> tuple[set[str], Counter[str]]:
    """Create and list leads; return the created ids, and how often each id is listed."""
    async with cams.AsyncClient(url=address) as client:
        left = iter(range(number))
        created: set[str] = set()

        async def create() -> None:
            for n in left:
                lead = await client.leads.create(agent_id="pages", name=f"Lead {n}")
                created.add(lead.id)

        await asyncio.gather(*(create() for _ in range(8)))
        assert len("".join([page async for page in client.leads.export(format="csv")]).splitlines()) == number + 1
        return created, Counter([lead.id async for lead in client.leads.list_by_agent("pages")])


def appends(address: str, number: str = "60") -> None:
    """Check that appends are stored once and in each writer's order, although every fifth response is lost."""
    client = cams.Client(url=address)
    client.agents.save("appends", title="Appends")
    share = int(number) // WRITERS
    with ThreadPoolExecutor(WRITERS) as pool:
        results = list(pool.map(_append, [address] * WRITERS, range(WRITERS), [share] * WRITERS))
    raised = sum(result[0] for result in results)
    conversation = client.conversations("appends", "ann")
    stored = [str(message.item["text"]) for message in conversation.messages.list()][::-1]
    sent = [f"{writer} {message}" for writer in range(WRITERS) for message in range(share)]
    lost, doubled = len(set(sent) - set(stored)), len(stored) - len(set(stored))
    answers = sum(result[1] for result in results)
    line = f"{len(sent)} appends, {answers} lost responses: {lost} lost, {doubled} doubled, {raised} raised"
    sys.stdout.write(f"{line}\n")
    assert (lost, doubled, raised) == (0, 0, 0)
    assert answers >= len(sent) // 5
    assert sorted(stored, key=lambda text: int(text.split()[0])) == sent, "a writer's messages changed their order"


def _append(address: str, writer: int, number: int) -> tuple[int, int]:
    """Add messages through a proxy. Return the number of exceptions and of lost responses."""
    raised = 0
    proxy = Proxy(address)
    with serving(proxy), cams.Client(url=proxy.address) as client:
        conversation = client.conversations("appends", "ann")
        for message in range(number):
            try:
                conversation.messages.add(f"{writer} {message}")
            except cams.Error:
                raised += 1
    return raised, proxy.lost


def creations(address: str) -> None:
    """Check that each creation creates one record, although every fifth response is lost."""
    proxy = Proxy(address)
    with serving(proxy), cams.Client(url=proxy.address) as client:
        client.agents.save("creations", title="Creations")
        for number in range(20):
            client.tools.create("creations", name=f"tool {number}")
            changed = client.agents.retrieve("creations")
            client.agents.update("creations", title=f"Title {number}", if_match=changed.etag)
        names = [tool.name for tool in client.tools.list("creations", limit=7)]
        assert Counter(names) == Counter(f"tool {number}" for number in range(20))
        assert proxy.lost > 10


def webhooks(address: str) -> None:
    """Check that the client verifies the service's webhooks and rejects all other requests."""
    receiver = Receiver()
    with serving(receiver), cams.Client(url=address) as client:
        url = f"http://127.0.0.1:{receiver.server_port}/"
        endpoint = client.webhooks.create(url=url, events=["agent_created"])
        client.webhooks.test(endpoint.id)
        body, headers = receiver.received.get(timeout=30)
    secret = endpoint.signing_secret
    assert secret is not None
    event = cams.verify_webhook(body, headers, secret)
    assert event.type == "webhook_test"
    assert event.payload.workspace_secret.startswith("cams_events_")
    assert event.payload.workspace_secret not in repr(event)
    assert cams.verify_webhook(body, {name.lower(): value for name, value in headers.items()}, secret) == event
    rotated = {**headers, "webhook-signature": f"v1,AAAA {signature(body, headers, secret)}"}
    assert cams.verify_webhook(body, {name.lower(): value for name, value in rotated.items()}, secret) == event
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
            cams.verify_webhook(*case)
        except cams.InvalidWebhook:
            continue
        raise AssertionError(f"the client accepted the request: {case[1]}")


def signature(body: bytes, headers: dict[str, str], secret: str) -> str:
    """Return a body's signature. The function uses only the published standard, and no code from the client."""
    values = {name.lower(): value for name, value in headers.items()}
    signed = f"{values['webhook-id']}.{values['webhook-timestamp']}.".encode() + body
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return "v1," + base64.b64encode(hmac.digest(key, signed, hashlib.sha256)).decode()


if __name__ == "__main__":
    name, *arguments = sys.argv[1:]
    {"pages": pages, "appends": appends, "creations": creations, "webhooks": webhooks}[name](*arguments)
