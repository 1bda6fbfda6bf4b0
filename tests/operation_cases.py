"""The operations that the cost and permission tests send: each in a situation, and the requests that it sends.

The populated workspace has a record for each case. Extensions and `contract/routes.json` contribute cases.
"""

import random
from base64 import b64encode
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest

from chalicelib import extensions, queues
from chalicelib.webhooks.queue import FAST
from chalicelib.workspaces import store as workspaces
from tests import extensions as support
from tests.api import Api
from tests.builders import lead_body, message, state_body, webhook_body
from tests.engines import new_engine
from tests.operations import MESSAGES, ROUTES, STATE, body_of

_SAVES_USAGE = extensions.has("reports")
GET, BATCH, QUERY, PUT, UPDATE, DELETE, TRANSACT, WRITES, SEND = (
    "GetItem",
    "BatchGetItem",
    "Query",
    "PutItem",
    "UpdateItem",
    "DeleteItem",
    "TransactWriteItems",
    "BatchWriteItem",
    "SendMessageBatch",
)
WEBHOOK = "/v3/webhooks/{webhook_id}"
ADD = "POST /v3/agents/{agent_id}/convos/{convo_id}/messages"
MESSAGE = "/v3/agents/{agent_id}/convos/{convo_id}/messages/{message_id}"
DELIVERY = WEBHOOK + "/deliveries/{delivery_id}"
LIST = "GET /v2/agents/{agent_id}/convos"
LIST_V3 = "GET /v3/agents/{agent_id}/convos"
CONVERSATION = "/v3/agents/{agent_id}/convos/{convo_id}"
VISITOR_TOKENS = "POST /agents/{agent_id}/interact/{user_id}/visitor-tokens"
VISITOR_TOKENS_V3 = "POST /v3/agents/{agent_id}/convos/{convo_id}/visitor-tokens"
BUSY = {"agent_id": "busy"}
# If an extension writes a row together with a record deletion, the deletion is a transaction.
DELETION = TRANSACT if extensions.hooks("stage_deletion") else DELETE


class Case(NamedTuple):
    """An operation in a specific situation, and the number of requests that it sends."""

    id: str
    operation: str
    costs: dict[str, int]
    body: Any = None
    query: str = ""
    values: dict[str, str] = {}  # noqa: RUF012


def large(seed: int) -> dict[str, Any]:
    """Return a state that is too large for one item even when compressed."""
    return state_body(b64encode(random.Random(seed).randbytes(600_000)).decode())


CASES = [
    # The extensions' cases are first, while the workspace has only four agents.
    *(Case(*one) for one in support.listed("COSTS")),
    # Agents
    Case("agent read", "GET /v3/agents/{agent_id}", {QUERY: 1}),
    Case("agent read v2", "GET /v2/agents/{agent_id}", {GET: 1}),
    Case("unknown agent read", "GET /v3/agents/{agent_id}", {QUERY: 1}, values={"agent_id": "unknown"}),
    Case("agent list", "GET /v3/agents", {QUERY: 1, BATCH: 1}),
    Case("agent list page", "GET /v3/agents", {QUERY: 1, BATCH: 1}, query="?limit=1"),
    Case("agent search", "GET /v3/agents/search", {QUERY: 1, BATCH: 1}),
    Case("agent search of none", "GET /v3/agents/search", {QUERY: 1}, query="?search=none&starredOnly=true"),
    Case("agent create", "POST /v3/agents", {TRANSACT: 1}, {"agent": {"title": "New"}}),
    *(Case(*one) for one in support.listed("CREATION_COSTS")),
    Case("agent save", "PATCH /v3/agents/{agent_id}", {QUERY: 1, PUT: 1}, {"agent": {"title": "v3"}}),
    Case("agent save unchanged", "PATCH /v3/agents/{agent_id}", {QUERY: 1}, {"agent": {}}),
    Case("agent save v2", "POST /v2/agents/{agent_id}", {GET: 1, PUT: 1}, {"title": "v2"}),
    Case(
        "agent create v2",
        "POST /v2/agents/{agent_id}",
        {GET: 1, TRANSACT: 1},
        {"title": "New"},
        values={"agent_id": "n"},
    ),
    # Tools
    Case("tool create", "POST /v3/agents/{agent_id}/tools", {GET: 1, PUT: 1}, {"tool": {"name": "New"}}),
    Case("tool list", "GET /v3/agents/{agent_id}/tools", {QUERY: 1}),
    Case("tool list of none", "GET /v3/agents/{agent_id}/tools", {QUERY: 1, GET: 1}, values={"agent_id": "other"}),
    Case("tool read", "GET /v3/tools/{tool_id}", {GET: 1}),
    Case("tool save", "PATCH /v3/tools/{tool_id}", {GET: 1, PUT: 1}, {"tool": {"name": "Changed"}}),
    # Conversations
    Case("conversation create", "POST /v3/agents/{agent_id}/convos", {GET: 1, PUT: 1}, {"conversation": {}}),
    Case("state read", STATE, {BATCH: 1}, {}),
    Case("state read of none", STATE, {BATCH: 1}, {}, values={"user_id": "unknown"}),
    Case("state replace", STATE, {BATCH: 1, PUT: 1}, state_body("again")),
    Case("state describe", STATE, {BATCH: 1, PUT: 1}, {"metadata": {"userName": "Ann"}}),
    Case("state of a new conversation", STATE, {BATCH: 1, PUT: 1}, state_body("first"), values={"user_id": "new"}),
    Case("state unchanged", STATE, {BATCH: 1}, {"delete": {"mids": ["unknown"]}}),
    Case("state read, large", STATE, {BATCH: 2}, {}, values={"user_id": "large"}),
    Case("state replace, large", STATE, {BATCH: 2, TRANSACT: 1}, large(2), values={"user_id": "large"}),
    Case("message add", ADD, {BATCH: 1, PUT: 1}, {"messages": [message("one more")]}),
    Case("message add, edge", MESSAGES, {BATCH: 1, PUT: 1}, {"messages": [message("Hello", mid="m1")]}),
    Case(
        "message add, replacing",
        MESSAGES,
        {BATCH: 1, PUT: 1},
        {"messages": [message("Changed", mid="m1")], "replace": True},
        values={"user_id": "talk"},
    ),
    Case("message add again", MESSAGES, {BATCH: 1}, {"messages": [message("Hello", mid="m1")]}),
    Case(
        "message add, new conversation",
        MESSAGES,
        {BATCH: 1, PUT: 1},
        values={"user_id": "newer"},
        body={"messages": [message("Hello")]},
    ),
    Case(
        "message change",
        f"PATCH {MESSAGE}",
        {BATCH: 1, PUT: 1},
        {"message": {"type": "new"}},
        values={"convo_id": "talk"},
    ),
    Case("message delete", f"DELETE {MESSAGE}", {BATCH: 1, PUT: 1}, values={"convo_id": "talk"}),
    Case(
        "messages replace",
        ADD.replace("POST", "PATCH"),
        {BATCH: 1, PUT: 1},
        {"turns": [{"messages": [message("only")]}]},
    ),
    Case("conversation list", LIST, {GET: 1, QUERY: 1}, values=BUSY),
    Case("conversation list, page 2", LIST, {GET: 1, QUERY: 1}, query="?page=2", values=BUSY),
    Case("conversation list by cursor", LIST, {GET: 1, QUERY: 1}, query="?cursor={cursor}", values=BUSY),
    Case("conversation list v3", LIST_V3, {GET: 1, QUERY: 1}, values=BUSY),
    Case("conversation list with filters", LIST_V3, {GET: 1, QUERY: 2}, query="?state=none&q=none", values=BUSY),
    Case("inbox of an agent", LIST_V3, {GET: 1, QUERY: 1}, query="?inbox=true", values=BUSY),
    Case("inbox", "GET /v3/convos", {QUERY: 1}, query="?inbox=true"),
    Case("conversation read", f"GET {CONVERSATION}", {BATCH: 1}),
    Case("conversation read, large", f"GET {CONVERSATION}", {BATCH: 1}, values={"convo_id": "large"}),
    Case("message list", f"GET {CONVERSATION}/messages", {BATCH: 1}),
    Case("message delta", f"GET {CONVERSATION}/messages", {BATCH: 1}, query="?after="),
    Case("message delta, edge", MESSAGES.replace("POST", "GET"), {BATCH: 1}, query="?after="),
    Case("message list, edge", MESSAGES.replace("POST", "GET"), {BATCH: 1}),
    Case("transcript", MESSAGES.replace("POST", "GET"), {BATCH: 1}, query="?order=asc"),
    Case(
        "transcript, large",
        f"GET {CONVERSATION}/messages",
        {BATCH: 2},
        query="?order=asc",
        values={"convo_id": "large"},
    ),
    Case("message add with a position", ADD, {BATCH: 1, PUT: 1}, {"messages": [message("a")]}, query="?after="),
    Case("conversation change", f"PATCH {CONVERSATION}", {BATCH: 1, PUT: 1}, {"conversation": {"title": "New"}}),
    Case("conversation change of nothing", f"PATCH {CONVERSATION}", {BATCH: 1}, {"conversation": {}}),
    Case("conversation assign", f"POST {CONVERSATION}/assign", {BATCH: 1, PUT: 1}, {"assignToUserId": "ann"}),
    Case("visitor token create", VISITOR_TOKENS, {BATCH: 1, PUT: 1}, {"token": {}}),
    Case("visitor token create v3", VISITOR_TOKENS_V3, {BATCH: 1, PUT: 1}, {"token": {}}),
    # Analytics
    Case("analytics write", "POST /v2/agents/{agent_id}/analytics/{convo_id}", {UPDATE: 1}, {"record": "convo"}),
    Case("analytics read", "GET /v2/agents/{agent_id}/analytics/{convo_id}", {BATCH: 1}),
    # Clients and organisations
    Case("client list", "GET /v2/clients", {QUERY: 1}),
    Case("client read", "GET /v2/clients/{client_id}", {GET: 1}),
    Case("client save", "POST /v2/clients/{client_id}", {GET: 1, PUT: 1}, {"name": "Changed"}),
    Case(
        "client save with another email", "POST /v2/clients/{client_id}", {GET: 1, TRANSACT: 1}, {"email": "b@x.test"}
    ),
    Case("client create", "POST /v2/clients/{client_id}", {GET: 1, PUT: 1}, {}, values={"client_id": "new"}),
    Case("organisation read", "GET /v2/orgs/{org_id}", {GET: 1}),
    Case("organisation save", "POST /v2/orgs/{org_id}", {GET: 1, PUT: 1}, {"name": "Changed"}),
    Case("client list v3", "GET /v3/clients", {QUERY: 1}),
    Case("client list with filters", "GET /v3/clients", {QUERY: 1}, query="?orgId=none&q=none"),
    Case("client create v3", "POST /v3/clients", {PUT: 1}, {"client": {"name": "New"}}),
    Case("client create v3 with an email", "POST /v3/clients", {TRANSACT: 1}, {"client": {"email": "v3@x.test"}}),
    Case(
        "client save with its organisation", "POST /v2/clients/{client_id}", {GET: 1, BATCH: 1, PUT: 1}, {"orgId": "a"}
    ),
    Case("client create, put", "PUT /v2/clients", {PUT: 1}, {"name": "New"}),
    Case("organisation list", "GET /v2/orgs", {QUERY: 1}),
    Case("organisation create", "PUT /v2/orgs", {PUT: 1}, {"name": "New"}),
    Case("organisation list v3", "GET /v3/orgs", {QUERY: 1}),
    Case("organisations on a numbered page", "GET /v3/orgs", {QUERY: 1}, query="?page=1"),
    Case(
        "organisation save with agents",
        "POST /v2/orgs/{org_id}",
        {GET: 1, BATCH: 1, PUT: 1},
        {"name": "Changed", "widgetIDs": ["support", "gone"], "adminIDs": ["ann"]},
    ),
    Case("organisation's agents", "GET /v3/orgs/{org_id}/agents", {GET: 1, BATCH: 1}),
    Case("organisation's clients", "GET /v3/orgs/{org_id}/clients", {GET: 1, QUERY: 1}),
    Case("organisation create v3", "POST /v3/orgs", {PUT: 1}, {"organisation": {"name": "New"}}),
    # Leads
    Case("lead create", "POST /v3/leads", {GET: 1, PUT: 1}, lead_body(name="Ann")),
    Case("lead change", "PATCH /v3/leads/{lead_id}", {GET: 1, PUT: 1}, {"lead": {"name": "Changed"}}),
    Case("lead change of nothing", "PATCH /v3/leads/{lead_id}", {GET: 1}, {"lead": {}}),
    Case("leads of all agents", "GET /v3/leads", {QUERY: 1}, query="?searchTerm=none"),
    Case("leads of an agent", "GET /v3/leads", {QUERY: 1}, query="?agentId=support&searchTerm=none&from=1"),
    Case("leads on a numbered page", "GET /v3/leads", {QUERY: 1}, query="?page=1"),
    Case("lead export", "GET /v3/leads/export", {QUERY: 1}, query="?format=csv&agentId=support"),
    Case("lead list", "GET /v3/agents/{agent_id}/leads", {QUERY: 1}),
    Case("lead list of none", "GET /v3/agents/{agent_id}/leads", {QUERY: 1, GET: 1}, values={"agent_id": "other"}),
    Case("lead read", "GET /v3/leads/{lead_id}", {GET: 1}),
    # Webhooks
    Case(
        "webhook create",
        "POST /v3/webhooks",
        {GET: 1, QUERY: 1, TRANSACT: 1},
        webhook_body("https://example.com/new"),
    ),
    Case("webhook list", "GET /v3/webhooks", {QUERY: 1}),
    Case("webhook read", f"GET {WEBHOOK}", {GET: 1}),
    Case("webhook save", f"PATCH {WEBHOOK}", {GET: 1, PUT: 1}, {"webhook": {"description": "Changed"}}),
    Case("webhook save unchanged", f"PATCH {WEBHOOK}", {GET: 1}, {"webhook": {"enabled": True}}),
    Case("webhook rotate", f"POST {WEBHOOK}/rotate", {GET: 1, PUT: 1}),
    Case("webhook test", f"POST {WEBHOOK}/test", {GET: 1, TRANSACT: 1, SEND: 1}),
    Case("delivery list", f"GET {WEBHOOK}/deliveries", {GET: 1, QUERY: 8}),
    Case("delivery list of a status", f"GET {WEBHOOK}/deliveries", {GET: 1, QUERY: 8}, query="?status=failed"),
    Case("delivery read", f"GET {DELIVERY}", {GET: 3}),
    Case("redeliver", f"POST {DELIVERY}/redeliver", {GET: 3, PUT: 1, SEND: 1}),
    # Deletions of records that no other case uses
    Case("lead delete", "DELETE /v3/leads/{lead_id}", {GET: 1, DELETE: 1}, values={"lead_id": "{old_lead}"}),
    Case("webhook delete", f"DELETE {WEBHOOK}", {GET: 1, DELETION: 1}, values={"webhook_id": "{old_webhook}"}),
    Case("tool delete", "DELETE /v3/tools/{tool_id}", {GET: 1, DELETION: 1}, values={"tool_id": "{old_tool}"}),
    Case(
        "conversation delete",
        "DELETE /v3/agents/{agent_id}/convos/{convo_id}",
        {BATCH: 1, DELETE: 1},
        values={"convo_id": "old"},
    ),
    Case("client delete v2", "DELETE /v2/clients/{client_id}", {GET: 1, DELETION: 1}, values={"client_id": "older"}),
    Case("client delete", "DELETE /v3/clients/{client_id}", {GET: 1, DELETION: 1}, values={"client_id": "old"}),
    Case("organisation delete v2", "DELETE /v2/orgs/{org_id}", {GET: 1, DELETION: 1}, values={"org_id": "older"}),
    Case("organisation delete", "DELETE /v3/orgs/{org_id}", {GET: 1, DELETION: 1}, values={"org_id": "old"}),
    Case(
        "agent delete",
        "DELETE /v3/agents/{agent_id}",
        # The reports save the agent's usage before.
        {GET: 2 + _SAVES_USAGE, QUERY: 7 + 3 * _SAVES_USAGE, TRANSACT: 1, BATCH: 1, PUT: 1, SEND: 1},
        values={"agent_id": "old"},
    ),
    # Credentials
    Case("workspace read", "GET /v3/workspace", {GET: 1}),
    Case("workspace save", "PATCH /v3/workspace", {GET: 1, PUT: 1}, {"workspace": {"name": "New"}}),
    Case(
        "workspace save with another retention",
        "PATCH /v3/workspace",
        {GET: 1, PUT: 1, SEND: 1},
        {"workspace": {"retentionDays": 90}},
    ),
    Case(
        "agent save with another retention",
        "PATCH /v3/agents/{agent_id}",
        {QUERY: 1, PUT: 1, SEND: 1},
        {"agent": {"retention": {"days": 30}}},
    ),
    Case("token create", "POST /v3/tokens", {TRANSACT: 1}, {"token": {"name": "New"}}),
    Case("token list", "GET /v3/tokens", {QUERY: 1, BATCH: 1}),
    Case("token delete", "DELETE /v3/tokens/{token_id}", {GET: 2, TRANSACT: 1}),
    Case("key rotate", "POST /v3/workspace/key/rotate", {GET: 2, TRANSACT: 1}),
]
CASES += [Case(name, name, one["requests"], body_of(name)) for name, one in ROUTES.items() if "requests" in one]


class Service(NamedTuple):
    """An API client for a populated workspace, and the path values for the workspace's records."""

    api: Api
    values: dict[str, str]


@pytest.fixture(scope="module")
def service() -> Iterator[Service]:
    """Provide one service for all cases. Each case writes different records."""
    with new_engine():
        new = workspaces.create("Test")
        api = Api(new.workspace_key)
        for agent_id in ("support", "other", "busy"):
            assert api.post(f"/v2/agents/{agent_id}", {"title": agent_id}).status == 200
        for queue in (FAST, queues.MAINTENANCE):
            queues._url(queue)  # each process looks the URL up only once
        tool = api.post(
            "/v3/agents/support/tools", {"tool": {"name": "Look up", "serverUrl": "https://127.0.0.1/"}}
        ).data
        for _ in range(41):
            assert api.post("/v3/agents/busy/convos", {"conversation": {}}).status == 200
        for user_id, body in (("user-1", state_body("first")), ("large", large(1))):
            assert api.post(f"/agents/support/interact/{user_id}/state", body).status == 200
        api.post("/agents/support/interact/talk/messages", {"messages": [message("Hello", mid="m1")]})
        api.post("/v2/agents/support/analytics/user-1", {"record": "load"})
        for number in range(3):
            api.post(f"/v2/agents/other/analytics/user-{number}", {"record": "load"})
        api.post("/v2/clients/ann", {"name": "Ann", "email": "a@x.test"})
        api.post("/v2/orgs/acme", {"name": "Acme", "widgetIDs": ["support", "gone"]})
        token = api.post("/v3/tokens", {"token": {"name": "CI"}}).data
        old_tool = api.post("/v3/agents/support/tools", {"tool": {"name": "Old"}}).data["id"]
        api.post("/v2/agents/old", {})
        api.post("/agents/support/interact/old/state", state_body("old"))
        api.post("/v2/clients/old", {"email": "old@x.test"})
        api.post("/v2/clients/older", {"name": "Old"})
        for org_id in ("old", "older"):
            api.post(f"/v2/orgs/{org_id}", {"name": "Old"})
        new_lead, old_lead = (api.post("/v3/leads", lead_body(name=name)).data["id"] for name in ("Bo", "Old"))
        new_webhook, old_webhook = (api.post("/v3/webhooks", webhook_body()).data["id"] for _ in range(2))
        values = {
            "tool_id": tool["id"],
            "token_id": token["id"],
            "client_id": "ann",
            "org_id": "acme",
            "old_tool": old_tool,
            "lead_id": new_lead,
            "old_lead": old_lead,
            "webhook_id": new_webhook,
            "old_webhook": old_webhook,
            "cursor": api.get("/v2/agents/busy/convos").json["nextCursor"],
            "delivery_id": api.post(f"/v3/webhooks/{new_webhook}/test").data["id"],
            **{name: value for one in support.call("cost_values", api) for name, value in one.items()},
        }
        yield Service(
            api, {"agent_id": "support", "user_id": "user-1", "convo_id": "user-1", "message_id": "m1", **values}
        )


def path_of(case: Case, service: Service) -> str:
    """Return a case's path with the ids of the service's records."""
    route = case.operation.split()[1]
    path = route.format(**{**service.values, **case.values}) + case.query
    return path.format(**service.values)
