"""The feeds in the core tests: a pull endpoint with an event, and the queue function with a message."""

from typing import Any

from chalicelib import ids as service_ids
from chalicelib import queues, storage
from chalicelib.extensions.feeds import feed, functions
from chalicelib.extensions.feeds.extension import QUEUE
from chalicelib.queues import tasks
from chalicelib.queues.messages import pack
from chalicelib.webhooks import endpoints, events, ledger
from chalicelib.webhooks.queue import DeliveryMessage
from chalicelib.workspaces import store as workspaces
from tests.api import Api
from tests.deletion.cascades import as_record, maintain
from tests.extensions import QueueFunctions
from tests.queues.messages import take
from tests.webhooks import pipeline
from tests.webhooks.story import STORY

READ = "GET /v3/webhooks/{webhook_id}/events"
OTHER_IDS = {READ: {"webhook_id": "feed_id"}}
COSTS: list[tuple[Any, ...]] = [
    ("feed", READ, {"BatchGetItem": 2, "Query": 1}, None, "", {"webhook_id": "{feed_id}"}),
    (
        "feed without new events",
        READ,
        {"BatchGetItem": 1, "Query": 1},
        None,
        "?after={feed_end}",
        {"webhook_id": "{feed_id}"},
    ),
]
REPEATED = [("pull endpoint create", "POST /v3/webhooks", {"webhook": {"kind": "pull", "events": ["lead_captured"]}})]
NOT_IDEMPOTENT = ("pull endpoint create",)
QUEUES = (QUEUE,)


def cost_values(api: Api) -> dict[str, str]:
    """Return the id of a pull endpoint with an event, and the position after the event."""
    body = {"webhook": {"kind": "pull", "events": ["agent_created"]}}
    feed_id = api.post("/v3/webhooks", body).data["id"]
    add_event(api.get("/v3/workspace").data["id"], feed_id)
    return {"feed_id": feed_id, "feed_end": api.get(f"/v3/webhooks/{feed_id}/events").json["after"]}


def append_all() -> None:
    """Process all messages in the queue of the feeds."""
    while bodies := take(QUEUE):
        assert functions.append_events({"Records": bodies}, None) == {"batchItemFailures": []}


def populate(workspace_id: str, ids: dict[str, str], mark: str) -> None:
    """Create a pull endpoint with an event in its feed."""
    document = {"kind": "pull", "events": ["lead_captured"], "enabled": True, "description": mark}
    with storage.unit_of_work():
        row, _ = endpoints.create(workspace_id, document)
    ids["feed_id"] = row.webhook_id
    add_event(workspace_id, row.webhook_id, leadName=mark)


def add_event(workspace_id: str, webhook_id: str, **payload: Any) -> None:
    """Store an event, and append it to a feed."""
    event_id = service_ids.new_id()
    payload["createdAt"] = service_ids.timestamp_of(event_id)
    ledger.save_events([events.Event(event_id, workspace_id, "lead_captured", payload)])
    feed.append(workspace_id, webhook_id, [event_id])


def queue_functions(workspace_id: str, agent_id: str, client_id: str) -> QueueFunctions:
    """Return the queue function by name, with a message for it."""
    message = DeliveryMessage(workspace_id, service_ids.new_id(), "agent_created", (service_ids.new_id(),))
    return {"append_events": (functions.append_events, [message.pack()])}


def run_functions() -> None:
    """Fan out all kinds of events to a feed. Append an event to a feed twice, and another after it."""
    new, stream = workspaces.create("Followed"), pipeline.Stream()
    api = Api(new.workspace_key)
    body = {"webhook": {"kind": "pull", "events": list(events.TYPES)}}
    assert api.post("/v3/webhooks", body).status == 200
    for _, method, path, story_body in STORY:
        assert api.call(method, path, story_body).status == 200
    pipeline.fan_out(stream.read())
    maintain([as_record(pack(tasks.ContinueFanOut(new.workspace_id, "agent_created", ((service_ids.new_id(),),))))])
    append_all()
    workspace_id, webhook_id = workspaces.create("Fed").workspace_id, service_ids.new_id()
    first, second = service_ids.new_id(), service_ids.new_id()
    for event_ids in ((first,), (first, second)):
        text = DeliveryMessage(workspace_id, webhook_id, "agent_created", event_ids).pack()
        queues.send(QUEUE, [text], workspace_id)
        append_all()
