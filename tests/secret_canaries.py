"""A workspace whose records are full of secrets, and all output that using it produces.

The fixture fills every text member of every record with a canary, including all passwords, keys and tokens. It then
performs reads and writes of every kind, provokes errors, and collects all output.
"""

import logging
import random
import re
from base64 import b64encode
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import copy
from typing import Any, NamedTuple

import pytest

from chalicelib import storage
from chalicelib.credentials import tokens
from chalicelib.http import auth
from chalicelib.storage import encryption, keyring
from chalicelib.webhooks import events, queue
from chalicelib.workspaces import store as workspaces
from tests.api import Answer, Api
from tests.assertions import logged, stored
from tests.builders import lead_body, webhook_body
from tests.contract.member_table import Member, alone, document, members
from tests.engine_requests import refuse_operation
from tests.engines import new_engine
from tests.sending.receivers import status
from tests.webhooks import pipeline

CANARY = "Canary7f3a91"
STATE = "/agents/support/interact/user-1/state"
MESSAGES = "/agents/support/interact/user-2/messages"
NOISE = b64encode(random.Random(0).randbytes(450_000)).decode()  # too large for one item, even compressed
SECRET = re.compile(r"(KEY|Key|Token|Secret|Password)$")
SECRET_MEMBERS = {
    resource: [member for member in members(resource) if SECRET.search(member.path) and member.type == "string"]
    for resource in ("agent_v3", "agent_v2", "tool", "client")
}


class Observed(NamedTuple):
    """A workspace's secrets, and all output that using the workspace produces.

    `log` contains the output with every logger at DEBUG, and `root_log` with only the root logger at DEBUG.
    `webhook_data` contains API responses and queue messages about webhooks. `posts` are the requests that an endpoint
    received.
    """

    log: str
    root_log: str
    right: dict[str, Any]
    webhook_data: dict[str, Any]
    posts: list[pipeline.Posted]
    errors: list[Answer]
    items: dict[str, list[dict[str, Any]]]
    secrets: dict[str, str]
    data_key: keyring.DataKey


def filled(resource: str) -> Any:
    """Return a resource body that contains a canary in every free-text member."""
    return canaries(document(resource, whole=True))


def canaries(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: canaries(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [canaries(inner) for inner in value]
    if isinstance(value, str) and value.startswith("agent-key-"):  # a key must not contain spaces
        return f"{CANARY}-{value}"
    return f"{CANARY} {value}" if isinstance(value, str) and value.endswith("🐑") else value


def renderings(value: Any) -> str:
    """Return all forms in which a log line or a message could contain an object."""
    return f"{value!r} {value!s} {value} {[value]} { ({'in': value}) }"


@pytest.fixture(scope="module")
def observed() -> Iterator[Observed]:
    """Collect the output once for all tests of a module. The tests must not change it."""
    with new_engine():
        with logged() as log, at_debug("botocore"), at_debug("pynamodb"), pytest.MonkeyPatch.context() as patch:
            patch.setenv("CAMS_WEBHOOK_ALLOW_PRIVATE", "1")
            new = workspaces.create(f"{CANARY} Ltd")
            api, stream = Api(new.workspace_key), pipeline.Stream()
            with pipeline.inbox() as inbox, pipeline.inbox(status(500)) as failing:
                hooks = [subscribe(api, running.url(CANARY)) for running in (inbox, failing)]
                right = use_resources(api)
                webhook_data = use_webhooks(api, stream, hooks)
                posts = inbox.posts
            errors = [*client_errors(api), *service_errors(api)]
        with logged() as root_log:
            keyring.current.cache_clear()
            api.post("/v2/clients/ann", {"name": CANARY})
            errors += service_errors(api)
        secrets = {
            "canary": CANARY,
            "workspace key": new.workspace_key,
            "access token": new.access_token,
            "workspace secret": new.workspace_secret,
            "agent key": right["agent v2"]["SECRET_API_KEY"],
            "issued token": right["token"]["token"],
            "rotated key": right["rotated"]["key"],
            "signing secret": hooks[0]["signingSecret"],
            "rotated signing secret": webhook_data.pop("rotated")["signingSecret"],
        }
        yield Observed(
            log.text, root_log.text, right, webhook_data, posts, errors, stored(), secrets, keyring.current()
        )


@contextmanager
def at_debug(name: str) -> Iterator[None]:
    """Set a logger's own level to DEBUG inside the block."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.DEBUG)
    yield
    logger.setLevel(level)


def use_resources(api: Api) -> dict[str, Any]:
    """Write and read every resource; return the read records by name."""
    made = api.post("/v2/agents/support", {"title": CANARY}).data
    agent = api.post("/v3/agents", {"agent": filled("agent_v3")}).data
    api.patch(f"/v3/agents/{agent['id']}", {"agent": filled("agent_v3")})
    api.post("/v2/agents/second", filled("agent_v2"))
    api.post("/v2/agents/second", {"lang": CANARY})
    tool = api.post("/v3/agents/support/tools", {"tool": filled("tool")}).data
    api.patch(f"/v3/tools/{tool['id']}", {"tool": filled("tool")})
    api.post("/v3/agents/support/convos", filled("conversation_in"))
    turns = [{"from": "human", "messages": [{"mid": CANARY, "item": {"text": f"{CANARY} 🐑"}, "own": CANARY}]}]
    api.post(STATE, {"turns": turns, "metadata": {"userPhone": CANARY, "tags": [CANARY]}})
    api.post(STATE.replace("user-1", "long"), {"turns": [{"messages": [{"item": {"text": CANARY + NOISE}}]}]})
    api.post("/v2/agents/support/analytics/user-1", filled("analytics"))
    api.post("/v2/clients/ann", filled("client"))
    api.post("/v2/clients/ann", {"email": f"{CANARY}@x.test"})
    api.post("/v2/orgs/acme", filled("organisation"))
    token = api.post("/v3/tokens", {"token": {"name": "CI"}}).data
    paths = {
        "agent": f"/v3/agents/{agent['id']}",
        "agents": "/v3/agents",
        "second": "/v3/agents/second",
        "tool": f"/v3/tools/{tool['id']}",
        "tools": "/v3/agents/support/tools",
        "convos": "/v2/agents/support/convos",
        "analytics": "/v2/agents/support/analytics/user-1",
        "client": "/v2/clients/ann",
        "clients": "/v2/clients",
        "organisation": "/v2/orgs/acme",
        "tokens": "/v3/tokens",
    }
    read = {name: api.get(path).data for name, path in paths.items()}
    rotated = api.post("/v3/workspace/key/rotate").data
    return {**read, "agent v2": made, "token": token, "rotated": rotated, "state": api.post(STATE, {}).json}


def subscribe(api: Api, url: str) -> Any:
    """Create a webhook for all events; return the record in the response."""
    members = {"url": url, "events": list(events.TYPES), "description": CANARY}
    return api.post("/v3/webhooks", {"webhook": members}).data


def use_webhooks(api: Api, stream: pipeline.Stream, hooks: list[Any]) -> dict[str, Any]:
    """Deliver all events, with every possible outcome; read every webhook, delivery, lead and queue."""
    lead = api.post("/v3/leads", lead_body(**dict.fromkeys(("name", "email", "phone"), CANARY)))
    first, second = (f"/v3/webhooks/{hook['id']}" for hook in hooks)
    records = stream.read()
    image = next(record["dynamodb"]["NewImage"] for record in records if "received" in record["dynamodb"]["NewImage"])
    pipeline.fan_out(records)
    # Alter a document after its header (layout and key), so that it cannot be decrypted and becomes a dead letter.
    sealed = image["received"]["B"]
    image["received"]["B"] = sealed[:8] + sealed[8:][::-1]
    pipeline.fan_out(records)
    queued = pipeline.take(queue.SLOW)  # new hosts count as slow
    with refuse_operation("UpdateItem", "ResourceNotFoundException"):
        queued.run()  # the outcomes cannot be stored
    queued.delete()
    pipeline.drain()
    rotated = api.post(f"{first}/rotate").data
    for path in (first, second):
        api.post(f"{path}/test").data  # noqa: B018 - `data` fails unless the request succeeded
    redeliveries = [
        api.post(f"{path}/deliveries/{api.get(f'{path}/deliveries').data[0]['id']}/redeliver")
        for path in (first, second)
    ]
    pipeline.drain()
    deliveries = [one for path in (first, second) for one in api.get(f"{path}/deliveries?limit=100").data]
    read = [api.get(f"{first}/deliveries/{one['id']}") for one in deliveries]
    return {
        "rotated": rotated,
        "changed": api.patch(first, {"webhook": {"description": f"{CANARY} changed"}}).data,
        "webhook": api.get(first).data,
        "webhooks": api.get("/v3/webhooks").data,
        "redeliveries": [answer.data for answer in redeliveries],
        "deliveries": deliveries,
        "delivery": [one.data for one in read if one.status == 200],
        "lead": api.get(f"/v3/leads/{lead.data['id']}").data,
        "leads": api.get("/v3/agents/support/leads").data,
        "queued": queued.bodies,
        "dead_letters": pipeline.waiting(queue.DEAD_LETTER),
    }


def client_errors(api: Api) -> Iterator[Answer]:
    """Yield client errors of every kind. Each request contains a secret."""
    strict = copy(api)
    strict._headers = {**api._headers, "Prefer": "handling=strict"}
    routes: dict[str, Callable[[Any], Answer]] = {
        "agent_v3": lambda body: strict.patch("/v3/agents/support", {"agent": body}),
        "agent_v2": lambda body: strict.post("/v2/agents/support", body),
        "tool": lambda body: strict.post("/v3/agents/support/tools", {"tool": {"name": "x", **body}}),
        "client": lambda body: strict.post("/v2/clients/ann", body),
    }
    for resource, secret in SECRET_MEMBERS.items():
        for member in secret:
            yield routes[resource](alone(member, [CANARY]))
            yield routes[resource](alone(Member(resource, f"{member.path}X", {"type": "any"}), CANARY))
    unknown = [tokens.new(kind) for kind in (tokens.WORKSPACE, tokens.AGENT, tokens.ACCESS)]
    for token in (CANARY, *unknown):
        answer = Api(token).get("/v3/agents")
        assert token not in answer.text
        yield answer
    yield api.post("/v2/clients/ann", f'{{"dashboardPassword": "{CANARY}"'.encode())
    yield api.call("POST", "/v2/clients/ann", CANARY.encode(), {**api._headers, "Content-Type": "text/plain"})
    yield api.call("PATCH", "/v2/clients", CANARY.encode())
    yield api.post("/v2/agents/unknown%FF", {"SECRET_API_KEY": CANARY})
    yield api.post("/v2/agents/support", {"SECRET_API_KEY": CANARY})  # the key is too short
    yield api.post("/v3/agents", {"agent": {"SECRET_API_KEY": f"cams_{CANARY * 4}"}})
    yield api.patch("/v3/tools/unknown", {"tool": {"serverUrlSecret": CANARY}})
    yield Api(api.get("/v2/agents/support").json["SECRET_API_KEY"]).post("/v2/clients/ann", {"name": CANARY})
    yield api.post("/v2/clients/bob", {"email": f"{CANARY}@x.test", "dashboardPassword": CANARY})
    webhook = api.get("/v3/webhooks").data[0]["id"]
    for url in (f"ftp://{CANARY}.test", f"http://ann:{CANARY}@x.test", f"http://x.test/#{CANARY}", f"http://{CANARY}*"):
        yield api.post("/v3/webhooks", webhook_body(url))
        yield api.patch(f"/v3/webhooks/{webhook}", {"webhook": {"url": url}})
    yield api.patch(f"/v3/webhooks/{webhook}", {"webhook": {"signingSecret": CANARY}})
    yield api.get(f"/v3/webhooks/{webhook}/deliveries?status={CANARY}")
    yield api.post("/v3/leads", lead_body(f"{CANARY}#", email=[CANARY]))
    yield api.post("/v3/leads", lead_body("unknown", email=CANARY))
    yield api.post(STATE, {"turns": [{"messages": [{"item": {"text": CANARY * 200_000}}]}]})
    yield api.post(MESSAGES, {"messages": [{"item": {"text": CANARY}}], "inReplyTo": CANARY})
    api.patch("/v3/agents/support", {"agent": {"messagesLimit": 1}})
    yield api.post(STATE, {"turns": [{"messages": [{"item": {"text": CANARY}}, {}]}]})


def service_errors(api: Api) -> Iterator[Answer]:
    """Yield service errors. Each request contains a secret."""
    secret = {"dashboardPassword": CANARY}
    steps: dict[str, Callable[[], Answer]] = {
        "GetItem": lambda: api.post("/v2/clients/ann", secret),
        "PutItem": lambda: api.post("/v2/clients/ann", {**secret, "name": f"{CANARY} again"}),
        "TransactWriteItems": lambda: api.post("/v2/clients/new", {**secret, "email": f"new{CANARY}@x.test"}),
        "BatchGetItem": lambda: api.post(STATE, {"metadata": {"userEmail": CANARY}}),
        "Query": lambda: api.get("/v2/clients"),
    }
    for code in ("AccessDeniedException", "ValidationException", "ResourceNotFoundException"):
        for operation, step in steps.items():
            with refuse_operation(operation, code):
                yield step()
        auth.clear_cache()
        with refuse_operation("GetItem", code):
            yield api.get("/v2/clients")
        webhook = f"/v3/webhooks/{api.get('/v3/webhooks').data[0]['id']}"
        lead = lead_body(email=CANARY)
        hook = webhook_body(f"https://example.com/{CANARY}")
        for operation, method, path, body in (
            ("PutItem", "POST", "/v3/leads", lead),
            ("TransactWriteItems", "POST", "/v3/webhooks", hook),
            ("PutItem", "PATCH", webhook, hook),
            ("PutItem", "POST", f"{webhook}/rotate", None),
            ("TransactWriteItems", "POST", f"{webhook}/test", None),
        ):
            with refuse_operation(operation, code):
                yield api.call(method, path, body)
    for name in ("seal", "unseal"):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(encryption, name, lambda workspace_id, place, content: content["an injected fault"])
            yield api.post("/v2/clients/ann", secret)
    workspace_id = api.get("/v2/clients/ann").data["ownerID"]
    copy_client(workspace_id, "ann", "moved")
    yield api.get("/v2/clients/moved")


def copy_client(workspace_id: str, client_id: str, other: str) -> None:
    """Copy a client's encrypted bytes to another id, where they cannot be decrypted."""
    dynamodb = storage.sdk_client("dynamodb")
    place = {"workspace": {"S": workspace_id}, "client_id": {"S": client_id}}
    item = dynamodb.get_item(TableName="cams-clients", Key=place)["Item"]
    dynamodb.put_item(TableName="cams-clients", Item={**item, "client_id": {"S": other}})
