"""What the crash sweep sends, to what kind of workspace, and how it looks at what is there then.

Cases are those of `tests.repeating` and every DELETE, and a few that take another way than the same request elsewhere.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from chalicelib import clock, queues, storage
from chalicelib.clients import store as client_rows
from chalicelib.conversations import store as conversations
from chalicelib.credentials import store as credential_rows
from chalicelib.credentials import tokens
from chalicelib.leads import store as lead_rows
from chalicelib.tools import store as tool_rows
from chalicelib.webhooks import endpoints, queue
from tests.api import Answer, Api
from tests.builders import state_body
from tests.operations import MADE_BY, STATE
from tests.repeating import CASES, NOISE, Case, World
from tests.webhooks import pipeline

AGENT, CONVERSATION = "/v3/agents/{agent_id}", "/v3/agents/{agent_id}/convos/{convo_id}"
CHUNKS, FEWER = NOISE[:200_000], NOISE[:100_000]  # more than the conversation's own item keeps: two chunks, and one
KEY = "$key"  # a new key of an agent

_REPLACE_KEY = Case("agent key replace", f"PATCH {AGENT}", {"agent": {"SECRET_API_KEY": KEY}})
_IN_CHUNKS = Case("state replace, in chunks", STATE, state_body(CHUNKS))

DELETE_AGENT = Case("agent delete", f"DELETE {AGENT}")
EVERY = [
    *CASES,
    Case("agent create, key given", "POST /v3/agents", {"agent": {"SECRET_API_KEY": KEY}}),
    _REPLACE_KEY,
    Case("agent key clear, old one left", f"PATCH {AGENT}", {"agent": {"SECRET_API_KEY": None}}),
    Case("state create, in chunks", STATE, state_body(CHUNKS), {"user_id": "new"}),
    _IN_CHUNKS,
    Case("state replace, chunks by fewer", STATE, state_body(FEWER)),
    Case("state replace, chunks by none", STATE, state_body("Hello")),
    Case("conversation create, second page", "POST /v3/agents/{agent_id}/convos", {"conversation": {"title": "New"}}),
    Case("conversation delete", f"DELETE {CONVERSATION}"),
    Case("conversation delete, chunks", f"DELETE {CONVERSATION}"),
    Case("conversation delete, second page", f"DELETE {CONVERSATION}"),
    Case("tool delete", "DELETE /v3/tools/{tool_id}"),
    Case("client delete", "DELETE /v3/clients/{client_id}"),
    Case("organisation delete", "DELETE /v3/orgs/{org_id}"),
    Case("lead delete", "DELETE /v3/leads/{lead_id}"),
    Case("webhook delete", "DELETE /v3/webhooks/{webhook_id}"),
    Case("token delete", "DELETE /v3/tokens/{token_id}"),
    DELETE_AGENT,
]
LONG = {"state create, large", "state replace, large"} | {one.id for one in EVERY if "second page" in one.id}
# What has been done before, beside the records that a case's path names.
_BEFORE = {
    "agent key clear, old one left": [_REPLACE_KEY],
    "state replace, chunks by fewer": [_IN_CHUNKS],
    "state replace, chunks by none": [_IN_CHUNKS],
    "conversation delete, chunks": [_IN_CHUNKS],
    "agent delete": [next(case for case in CASES if case.id == "analytics write")],
}

# What a case makes once more when it is sent again: without an `Idempotency-Key` nobody can tell it from another one.
MADE_AGAIN = {
    "agent create", "tool create", "conversation create", "conversation create, second page", "lead create",
    "webhook create", "webhook rotate", "webhook test", "redeliver", "token create", "key rotate",
}  # fmt: skip
# The events that a case is, by the beginning of its name; of one that is not here there is none.
EVENTS = {
    "agent create": ["agent_created"],
    "agent save v2": ["agent_updated"],
    "agent change": ["agent_updated"],
    "agent change nothing": [],
    "agent key": ["agent_updated"],
    "agent delete": ["agent_deleted"],
    "state create": ["message_received"],
    "state replace": ["message_received"],
    "client create": ["client_created"],
    "client save": ["client_updated"],
    "client delete": ["client_deleted"],
    "organisation create": ["organisation_created"],
    "organisation save": ["organisation_updated"],
    "organisation delete": ["organisation_deleted"],
    "lead create": ["lead_captured"],
}


def begin(case: Case) -> World:
    """A workspace with what the case needs, and no more: each is there for one fault."""
    queues._url.cache_clear()
    there = World()
    wanted = _named(case)
    there.make(name for name in MADE_BY if name in wanted - {"convo_id"})
    there.values["key"] = tokens.new(tokens.AGENT)
    for one in _BEFORE.get(case.id, []):
        assert send(there, one).status == 200
    there.values["key"] = tokens.new(tokens.AGENT)
    if case.id.endswith("second page"):
        for _ in range(20):
            there.api.post("/v3/agents/support/convos", {"conversation": {}})
    return there


def _named(case: Case) -> set[str]:
    """The records that are there: those that the path names, and what they belong to."""
    names = set(re.findall(r"(\w+_id)}", case.operation))
    if case.id == "agent delete":
        names |= {"tool_id", "lead_id", "user_id"}
    if case.id == "webhook delete":
        names |= {"delivery_id"}
    if names & {"tool_id", "user_id", "convo_id", "lead_id"} or case.operation == "POST /v3/leads":
        names |= {"agent_id"}
    if "delivery_id" in names:
        names |= {"webhook_id"}
    if case.operation.endswith("{convo_id}") and "convos" in case.operation:
        names |= {"user_id"}
    return names - case.values.keys()


def send(there: World, case: Case, key: str | None = None) -> Answer:
    """Send the case with the workspace's own key of an agent, the same one each time."""
    body = json.loads(json.dumps(case.body).replace(KEY, there.values["key"]))
    return there.send(case, key, body=body)


def seen(there: World, case: Case) -> dict[str, Any]:
    """What the case could have changed, as a caller sees it."""
    return {look.__name__: look(there) for look in _looks(case)}


def plain(document: Any) -> str:
    """A document without what differs between two workspaces: times, ids, and what is random."""
    text = json.dumps(document, sort_keys=True)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "time", text)
    return re.sub(r"\b(\w{11})?[0-9a-hjkmnp-tv-z]{26}\b|\bcams_\w+|\bwhsec_[\w+/=]+|\b\d{10,13}\b", "-", text)


def events(there: World, case: Case, stream: pipeline.Stream) -> list[tuple[str, str]]:
    """The events of the workspace since the last call, by type, and what they say."""
    tables = [name for look in _looks(case) if (name := look.__name__.rstrip("_")) in pipeline.WATCHED]
    told = pipeline.events_of(stream.read(*tables) if tables else [])
    own = [one for one in told if one.workspace_id == there.workspace.workspace_id]
    assert len({one.id for one in own}) == len(own), "two events with one id"
    return [(one.type, plain({**one.payload, "createdAt": 0})) for one in own]


def queued(there: World) -> set[str]:
    """The ids of the workspace's deliveries that wait to be sent; they are taken off the queue."""
    messages = [queue.from_text(text) for text in pipeline.waiting(queue.FAST)]
    return {
        delivery.delivery_id
        for one in messages
        for delivery in one.deliveries
        if one.workspace_id == there.workspace.workspace_id
    }


# ---- what there is to see -------------------------------------------------------------------------


def _looks(case: Case) -> list[Callable[[World], Any]]:
    words = case.operation.split("/")
    if case.id == "agent delete":
        return [agents_, tools, leads, analytics, conversations_]
    return next((_LOOKS[word] for word in reversed(words) if word in _LOOKS), [agents_, credentials])


def agents_(there: World) -> Any:
    """Every agent, and whether its key opens something."""
    found = there.api.get("/v3/agents").data
    alive = [
        credential_rows.find_active(tokens.fingerprint(one.get("SECRET_API_KEY", ""))) is not None for one in found
    ]
    return [found, alive]


def credentials(there: World) -> Any:
    """Every credential, which rows of both kinds agree on: what it opens, and whether it ends soon."""
    begin = credential_rows.CredentialEntry.item.startswith("credential")
    entries = storage.query(credential_rows.CredentialEntry, there.workspace.workspace_id, begin)
    rows = storage.find_many([storage.Key(credential_rows.CredentialRow, entry.token_hash) for entry in entries])
    assert all(rows), "an entry without its credential"
    assert [row.expires_at for row in rows] == [entry.expires_at for entry in entries]
    soon = clock.seconds() + 2 * credential_rows.DAY
    # Of the same moment, they have no order.
    return sorted([row.kind, row.name, row.read_only, (row.ends_at or soon) < soon] for row in rows)


def tools(there: World) -> Any:
    """The agent's tools."""
    return _got(there, "/v3/agents/support/tools")


def leads(there: World) -> Any:
    """The agent's leads."""
    return _got(there, "/v3/agents/support/leads")


def analytics(there: World) -> Any:
    """What is known of the conversation."""
    return _got(there, "/v2/agents/support/analytics/ann")


def clients(there: World) -> Any:
    """Every client; each email that one has is its own."""
    found = there.api.get("/v2/clients").data
    rows = [(client_rows.new(there.workspace.workspace_id, one["ID"]), one.get("email")) for one in found]
    owned = {(item["client_id"]["S"], item["owner"]["S"]) for item in _items("clients", "workspace", there, "emails")}
    assert owned == {(client_rows._claim(row, email), row.client_id) for row, email in rows if email}
    return found


def organisations(there: World) -> Any:
    """The organisations that may be there."""
    return [_got(there, f"/v2/orgs/{name}") for name in ("acme", "new")]


def webhooks(there: World) -> Any:
    """Every webhook with its deliveries, and how many secrets it signs with."""
    found = there.api.get("/v3/webhooks").data
    workspace_id = there.workspace.workspace_id
    secrets = [len(endpoints.read(workspace_id, one["id"]).open()["secrets"]) for one in found]
    return [found, secrets, [_got(there, f"/v3/webhooks/{one['id']}/deliveries") for one in found]]


def conversations_(there: World) -> Any:
    """Every conversation, its item and chunks counted; the pages of the list, the numbers and the index agree."""
    listed = list(_pages(there.api))
    if listed == [None]:
        return None
    workspace_id = there.workspace.workspace_id
    indexed = conversations.batch_to_delete(workspace_id, "support", 100)
    names = [storage.split_key(row.conversation)[2] for row in reversed(indexed)]
    assert [one["ID"] for one in listed] == names, "the list and the index do not agree"
    (numbers,) = _items("conversations", "conversation", there, "support")
    states = {name: there.api.post(f"/agents/support/interact/{name}/state", {}) for name in names}
    assert {answer.status for answer in states.values()} <= {200}
    parts = {name: _items("conversations", "conversation", there, "support", name) for name in (*names, "ann", "new")}
    for name, found in parts.items():
        # What a write received, for the stream alone, stays for a day whatever becomes of the conversation.
        items = [item for item in found if not item["item"]["S"].startswith("received#")]
        assert len(items) == (_parts(items) if name in names else 0), "items that belong to nothing"
    recent = numbers["recent"]["S"].split()
    return [listed, recent, [answer.json for answer in states.values()]]


def _parts(items: list[dict[str, Any]]) -> int:
    """How many items a conversation has to have: its own, and those of its turns."""
    (own,) = [item for item in items if item["item"]["S"] == "conversation"]
    return 1 + len(own.get("chunks", {"S": ""})["S"].split())


def _pages(api: Api) -> Iterator[Any]:
    """The list of conversations, each page by its number and again by its cursor; None without the agent."""
    page, cursor = 1, ""
    while True:
        answer = api.get(f"/v2/agents/support/convos?page={page}")
        if answer.status == 404:
            yield None
            return
        found = answer.data
        if page > 1:
            assert found == api.get(f"/v2/agents/support/convos?cursor={cursor}").data
        yield from found
        if "nextCursor" not in answer.json:
            return
        page, cursor = page + 1, answer.json["nextCursor"]


def _got(there: World, path: str) -> Any:
    answer = there.api.get(path)
    return [answer.status, answer.json]


def _items(table: str, attribute: str, there: World, *parts: str) -> list[dict[str, Any]]:
    """The items of a partition as they are stored."""
    found = storage.sdk_client("dynamodb").query(
        TableName=storage.table(table),
        KeyConditionExpression="#key = :key",
        ExpressionAttributeNames={"#key": attribute},
        ExpressionAttributeValues={":key": {"S": storage.key(there.workspace.workspace_id, *parts)}},
        ConsistentRead=True,
    )
    items: list[dict[str, Any]] = found["Items"]
    return items


def left(there: World) -> list[Any]:
    """What a deleted agent has left behind, in whatever table."""
    owner = (there.workspace.workspace_id, "support")
    children = [*tool_rows.batch_to_delete(*owner, 1), *lead_rows.batch_to_delete(*owner, 1)]
    items = [
        item for more in ([], ["ann"]) for item in _items("conversations", "conversation", there, "support", *more)
    ]
    items += _items("analytics", "agent", there, "support")
    return [*children, *items, *credential_rows.list_active(owner[0], tokens.AGENT, "support")]


_LOOKS: dict[str, list[Callable[[World], Any]]] = {
    "tools": [tools],
    "{tool_id}": [tools],
    "leads": [leads],
    "{lead_id}": [leads],
    "analytics": [analytics],
    "clients": [clients],
    "orgs": [organisations],
    "webhooks": [webhooks],
    "tokens": [credentials],
    "workspace": [credentials],
    "convos": [conversations_],
    "state": [conversations_],
}
