"""The crash sweep's cases, the workspaces in which they run, and checks of the stored records.

The cases are those in `tests.http.replay_cases`, every DELETE, and additional cases for other code paths.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from chalicelib import clock, queues, storage
from chalicelib.clients import store as client_rows
from chalicelib.conversations import store as conversations
from chalicelib.credentials import store as credential_rows
from chalicelib.credentials import tokens
from chalicelib.leads import store as lead_rows
from chalicelib.tools import store as tool_rows
from chalicelib.webhooks import endpoints, queue
from tests import extensions
from tests.api import Answer, Api
from tests.builders import message, state_body
from tests.http.replay_cases import CASES, HUMAN, NOISE, Case, World
from tests.operations import CREATED_BY, MESSAGES, STATE
from tests.webhooks import pipeline

AGENT, CONVERSATION = "/v3/agents/{agent_id}", "/v3/agents/{agent_id}/convos/{convo_id}"
CHUNKS, FEWER = NOISE[:200_000], NOISE[:100_000]  # texts that are stored in two chunks and one chunk
KEY = "$key"  # placeholder for a new agent key

_REPLACE_KEY = Case("agent key replace", f"PATCH {AGENT}", {"agent": {"SECRET_API_KEY": KEY}})
_IN_CHUNKS = Case("state replace, in chunks", STATE, state_body(CHUNKS))

DELETE_AGENT = Case("agent delete", f"DELETE {AGENT}")
EVERY = [
    *CASES,
    Case("agent create, key given", "POST /v3/agents", {"agent": {"SECRET_API_KEY": KEY}}),
    _REPLACE_KEY,
    Case("agent key clear, old key left", f"PATCH {AGENT}", {"agent": {"SECRET_API_KEY": None}}),
    Case("state create, in chunks", STATE, state_body(CHUNKS), {"user_id": "new"}),
    _IN_CHUNKS,
    Case("state replace, chunks by fewer", STATE, state_body(FEWER)),
    Case("state replace, chunks by none", STATE, state_body("Hello")),
    Case("message add, chunks to the index", MESSAGES, {"messages": [message("last", mid="m9", **HUMAN)]}),
    Case("message delete", f"DELETE {CONVERSATION}/messages/{{message_id}}"),
    Case("conversation create, second page", "POST /v3/agents/{agent_id}/convos", {"conversation": {"title": "New"}}),
    Case("conversation delete", f"DELETE {CONVERSATION}"),
    Case("conversation delete, chunks", f"DELETE {CONVERSATION}"),
    Case("conversation delete, index", f"DELETE {CONVERSATION}"),
    Case("conversation delete, If-Match", f"DELETE {CONVERSATION}"),
    Case("conversation delete, second page", f"DELETE {CONVERSATION}"),
    Case("tool delete", "DELETE /v3/tools/{tool_id}"),
    Case("client delete", "DELETE /v3/clients/{client_id}"),
    Case("client delete v2", "DELETE /v2/clients/{client_id}"),
    Case("organisation delete", "DELETE /v3/orgs/{org_id}"),
    Case("organisation delete v2", "DELETE /v2/orgs/{org_id}"),
    Case("lead delete", "DELETE /v3/leads/{lead_id}"),
    *(Case(*case) for case in extensions.listed("DELETIONS")),
    Case("webhook delete", "DELETE /v3/webhooks/{webhook_id}"),
    Case("token delete", "DELETE /v3/tokens/{token_id}"),
    DELETE_AGENT,
]
_WITH_INDEX = [_IN_CHUNKS, Case("", MESSAGES, {"messages": [message("last", mid="m9", **HUMAN)]})]
_WRITE_ANALYTICS = next(case for case in CASES if case.id == "analytics write")
# Case -> the requests before it, in addition to those that create the records in its path.
_BEFORE = {
    "analytics delete": [_WRITE_ANALYTICS, _WRITE_ANALYTICS._replace(values={"convo_id": "bo"})],
    "analytics delete v2": [_WRITE_ANALYTICS],
    "agent key clear, old key left": [_REPLACE_KEY],
    "state replace, chunks by fewer": [_IN_CHUNKS],
    "state replace, chunks by none": [_IN_CHUNKS],
    "conversation delete, chunks": [_IN_CHUNKS],
    "message add, chunks to the index": [_IN_CHUNKS],
    "conversation delete, index": _WITH_INDEX,
    "conversation delete, If-Match": _WITH_INDEX,
    "agent delete": [_WRITE_ANALYTICS],
}

# Cases that take effect again if they are repeated without an `Idempotency-Key`.
NOT_IDEMPOTENT = {
    "agent create", "tool create", "conversation create",
    "conversation create, second page", "lead create", "webhook create", "webhook rotate",
    "webhook test", "redeliver", "token create", "key rotate", "visitor token create", "visitor token create, edge",
    "client create v3", "client create, put", "organisation create v3", "organisation create, put",
    "post /v3/agents/{agent_id}/convos/{convo_id}/messages", *extensions.listed("NOT_IDEMPOTENT"),
}  # fmt: skip
# Start of a case's name -> the events that the case causes. All other cases cause no events.
EVENTS = {
    "agent create": ["agent_created"],
    "agent clone": ["agent_created"],
    "agent import": ["agent_created"],
    "agent save v2": ["agent_updated"],
    "agent change": ["agent_updated"],
    "agent change nothing": [],
    "agent key": ["agent_updated"],
    "agent delete": ["agent_deleted"],
    "post /v3/agents/{agent_id}/versions/{number}/restore": ["agent_updated"],
    "state create": ["message_received"],
    "state replace": ["message_received"],
    "message add": ["message_received"],
    "post /v3/agents/{agent_id}/convos/{convo_id}/messages": ["message_received"],
    "message create": ["message_received"],
    "conversation assign": ["conversation_state_changed", "conversation_assigned"],
    "client create": ["client_created"],
    "client save": ["client_updated"],
    "client delete": ["client_deleted"],
    "organisation create": ["organisation_created"],
    "organisation save": ["organisation_updated"],
    "organisation delete": ["organisation_deleted"],
    "lead create": ["lead_captured"],
}


def event_types(case: Case) -> list[str]:
    """Return the event types that a case triggers."""
    return next((EVENTS[name] for name in sorted(EVENTS, reverse=True) if case.id.startswith(name)), [])


def create_world(case: Case) -> World:
    """Create a workspace with only the records that the case needs. Every fault is tested in a new workspace."""
    queues._url.cache_clear()
    world = World()
    wanted = _named(case)
    world.populate(name for name in CREATED_BY if name in wanted - {"convo_id"})
    world.values["key"] = tokens.new(tokens.AGENT)
    for one in _BEFORE.get(case.id, []):
        assert send(world, one).status == 200
    world.values["key"] = tokens.new(tokens.AGENT)
    if case.id.endswith("If-Match"):
        world.values["etag"] = world.api.post("/agents/support/interact/ann/state", {}).headers["etag"]
    if case.id.endswith("second page"):
        _create_older_conversations(world)
    return world


def _create_older_conversations(world: World) -> None:
    """Create a page of conversations in different milliseconds, because only then is their order defined."""
    now = clock.milliseconds()
    for age in range(20, 0, -1):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(clock, "milliseconds", lambda age=age: now - age)
            assert world.api.post("/v3/agents/support/convos", {"conversation": {}}).status == 200


def _named(case: Case) -> set[str]:
    """Return the names of the ids whose records must exist: those in the path, and their parents'."""
    names = set(re.findall(r"(\w+_id)}", case.operation))
    if case.id == "agent clone":
        names |= {"tool_id"}
    if case.id == "agent delete":
        names |= {"tool_id", "lead_id", "user_id"}
    if case.id == "webhook delete":
        names |= {"delivery_id"}
    if names & {"tool_id", "user_id", "convo_id", "message_id", "lead_id"} or case.operation == "POST /v3/leads":
        names |= {"agent_id"}
    if "delivery_id" in names:
        names |= {"webhook_id"}
    if re.search("conv(o|ersation)s/{convo_id}", case.operation) and "convo_id" not in case.values:
        names |= {"user_id"}
    if case.id == "conversation assign":
        names |= {"client_id"}
    return names - case.values.keys()


def send(world: World, case: Case, key: str | None = None) -> Answer:
    """Send the case's request. The agent key and the `If-Match` tag are the same on every call."""
    body = json.loads(json.dumps(case.body).replace(KEY, world.values["key"]))
    if case.id.endswith("If-Match"):
        return world.send(case, key, body=body, If_Match=world.values["etag"])
    return world.send(case, key, body=body)


def visible_records(world: World, case: Case) -> dict[str, Any]:
    """Return all records that the case can change, as the API returns them."""
    return {look.__name__: look(world) for look in _checks_of(case)}


def plain(document: Any) -> str:
    """Return a document as text without values that differ between workspaces, such as times, ids and random values."""
    text = json.dumps(document, sort_keys=True)
    text = re.sub(r"\d{4}-\d\d-\d\dT[\d:.]+Z", "time", text)
    return re.sub(r"\b(\w{11})?[0-9a-hjkmnp-tv-z]{26}\b|\bcams_\w+|\bwhsec_[\w+/=]+|\b\d{10,13}\b", "-", text)


def events(world: World, case: Case, stream: pipeline.Stream) -> list[tuple[str, str]]:
    """Return the types and contents of the workspace's events since the last call."""
    tables = [name for look in _checks_of(case) if (name := look.__name__.rstrip("_")) in pipeline.WATCHED]
    all_events = pipeline.events_of(stream.read(*tables) if tables else [])
    own = [one for one in all_events if one.workspace_id == world.workspace.workspace_id]
    assert len({one.id for one in own}) == len(own), "two events with one id"
    return [(one.type, plain({**one.payload, "createdAt": 0})) for one in own]


def queued(world: World) -> set[str]:
    """Remove the workspace's deliveries from the queue, and return their ids."""
    messages = [queue.DeliveryMessage.parse(text) for text in pipeline.waiting(queue.FAST)]
    return {
        delivery.delivery_id
        for one in messages
        for delivery in one.deliveries
        if one.workspace_id == world.workspace.workspace_id
    }


# ---- checks ---------------------------------------------------------------------------------------


def _checks_of(case: Case) -> list[Callable[[World], Any]]:
    words = case.operation.split("/")
    if case.id in ("agent clone", "agent import"):
        return [agents_, credentials, tools_of_all]
    if case.id == "agent delete":
        return [agents_, tools, leads, analytics, conversations_]
    return next((_LOOKS[word] for word in reversed(words) if word in _LOOKS), [agents_, credentials])


def agents_(world: World) -> Any:
    """Return every agent, and whether the agent's key is valid."""
    agents = world.api.get("/v3/agents").data
    alive = [
        credential_rows.find_active(tokens.fingerprint(one.get("SECRET_API_KEY", ""))) is not None for one in agents
    ]
    return [agents, alive]


def credentials(world: World) -> Any:
    """Return every credential, its rights, and whether it expires soon. Check that both kinds of rows agree."""
    is_credential = credential_rows.CredentialEntry.item.startswith("credential")
    entries = storage.query(credential_rows.CredentialEntry, world.workspace.workspace_id, is_credential)
    rows = storage.find_many([storage.Key(credential_rows.CredentialRow, entry.token_hash) for entry in entries])
    assert all(rows), "an entry without its credential"
    assert [row.expires_at for row in rows] == [entry.expires_at for entry in entries]
    soon = clock.seconds() + 2 * credential_rows.DAY
    # The order of entries with the same time is undefined.
    return sorted([row.kind, row.name, row.read_only, (row.ends_at or soon) < soon] for row in rows)


def visitor_tokens(world: World) -> Any:
    """Return every visitor token, and whether its conversation existed. Check that the token list omits them."""
    row = credential_rows.CredentialRow
    found = list(storage.scan(row, (row.workspace == world.workspace.workspace_id) & row.issuer.exists()))
    hashes = {one.token_hash for one in credential_rows.list_entries(world.workspace.workspace_id)}
    assert not [one for one in found if one.token_hash in hashes]
    return sorted([one.agent_id, one.conversation_created is not None] for one in found)


def tools(world: World) -> Any:
    """Return the agent's tools."""
    return _got(world, "/v3/agents/support/tools")


def tools_of_all(world: World) -> Any:
    """Return every agent's tools."""
    return [_got(world, f"/v3/agents/{agent['id']}/tools") for agent in world.api.get("/v3/agents").data]


def leads(world: World) -> Any:
    """Return the agent's leads."""
    return _got(world, "/v3/agents/support/leads")


def analytics(world: World) -> Any:
    """Return the agent's analytics without the write times."""
    answer = world.api.get("/v2/agents/support/analytics")
    return [answer.status, [{**one, "lastModified": 0} for one in answer.json.get("data", [])]]


def clients(world: World) -> Any:
    """Return every client. Check that each client owns its email address."""
    records = world.api.get("/v2/clients").data
    rows = [(client_rows.new(world.workspace.workspace_id, one["ID"]), one.get("email")) for one in records]
    owned = {(item["client_id"]["S"], item["owner"]["S"]) for item in _items("clients", "workspace", world, "emails")}
    assert owned == {(client_rows._claim(row.workspace, email), row.client_id) for row, email in rows if email}
    return records


def organisations(world: World) -> Any:
    """Return every organisation."""
    return world.api.get("/v3/orgs").data


def webhooks(world: World) -> Any:
    """Return every webhook, its deliveries, and the number of its signing secrets."""
    unordered = world.api.get("/v3/webhooks").data
    # Endpoints that were created in the same millisecond have no fixed order.
    records = sorted(
        unordered, key=lambda webhook: (webhook["kind"], webhook["description"] or "", webhook.get("url", ""))
    )
    workspace_id = world.workspace.workspace_id
    secrets = [len(endpoints.read(workspace_id, one["id"]).open()["secrets"]) for one in records]
    return [records, secrets, [_got(world, f"/v3/webhooks/{one['id']}/deliveries") for one in records]]


def conversations_(world: World) -> Any:
    """Return every conversation and its state. Check the items, and that the list agrees with the index."""
    listed = list(_pages(world.api))
    if listed == [None]:
        return None
    workspace_id = world.workspace.workspace_id
    indexed = conversations.list_by_creation(workspace_id, "support", None, 100)
    names = [storage.split_key(row.conversation)[2] for row in reversed(indexed)]
    assert [one["ID"] for one in listed] == names, "the list differs from the index"
    states = {name: world.api.post(f"/agents/support/interact/{name}/state", {}) for name in names}
    assert {answer.status for answer in states.values()} <= {200}
    parts = {name: _items("conversations", "conversation", world, "support", name) for name in (*names, "ann", "new")}
    for name, found in parts.items():
        # A queue function later deletes a deleted conversation's index items
        # (`tests/conversations/test_message_index.py`).
        items = [item for item in found if not item["item"]["S"].startswith(("received#", "mid#"))]
        assert len(items) == (_parts(items) if name in names else 0), "orphaned items"
    return [listed, [answer.json for answer in states.values()]]


def _parts(items: list[dict[str, Any]]) -> int:
    """Return a conversation's expected number of items: its own item, plus one per chunk."""
    (own,) = [item for item in items if item["item"]["S"] == "conversation"]
    return 1 + len(own.get("chunks", {"S": ""})["S"].split())


def _pages(api: Api) -> Iterator[Any]:
    """Yield all listed conversations, or None for a missing agent. Read each page both by number and by cursor."""
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


def _got(world: World, path: str) -> Any:
    answer = world.api.get(path)
    return [answer.status, answer.json]


def _items(table: str, attribute: str, world: World, *parts: str) -> list[dict[str, Any]]:
    """Return a partition's stored items."""
    answer = storage.sdk_client("dynamodb").query(
        TableName=storage.table(table),
        KeyConditionExpression="#key = :key",
        ExpressionAttributeNames={"#key": attribute},
        ExpressionAttributeValues={":key": {"S": storage.join_key(world.workspace.workspace_id, *parts)}},
        ConsistentRead=True,
    )
    items: list[dict[str, Any]] = answer["Items"]
    return items


def remaining_items(world: World) -> list[Any]:
    """Return a deleted agent's remaining items in all tables."""
    owner = (world.workspace.workspace_id, "support")
    children = [*tool_rows.list_page(*owner, limit=1), *lead_rows.list_page(*owner, None, 1)]
    items = [
        item for more in ([], ["ann"]) for item in _items("conversations", "conversation", world, "support", *more)
    ]
    items += _items("analytics", "agent", world, "support")
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
    **extensions.joined("LOOKS"),
    "tokens": [credentials],
    "workspace": [credentials],
    "convos": [conversations_],
    "conversations": [conversations_],
    "interact": [conversations_],
    "state": [conversations_],
    "messages": [conversations_],
    "visitor-tokens": [visitor_tokens],
}
