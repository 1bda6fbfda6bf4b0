"""The write of thousands of messages that 50 endpoints subscribe to, and what became of it."""

from typing import Any

from benchmarks.populate import AGENT
from chalicelib import queues, storage
from chalicelib.webhooks import ledger
from chalicelib.workspaces import store as workspaces
from infra import tables
from tests.api import Api
from tests.webhooks.pipeline import Stream


def write(urls: list[str], count: int) -> tuple[str, list[str], list[dict[str, Any]]]:
    """Create an endpoint for each URL, and write a state of `count` one-word messages.

    Returns the ids of the workspace and of the endpoints, and the stream records that pass the filter of the function.
    """
    tables.create_missing(storage.sdk_client)
    workspace = workspaces.create("Poison")
    api = Api(workspace.workspace_key)
    webhooks = [{"webhook": {"url": url, "events": ["message_received"]}} for url in urls]
    webhook_ids = [api.post("/v3/webhooks", webhook).data["id"] for webhook in webhooks]
    assert api.post(f"/v2/agents/{AGENT}", {"title": "Support"}).status == 200  # noqa: S101
    stream = Stream()
    turns = [{"from": "human", "messages": [{"type": "w"}] * count}]
    assert api.post(f"/agents/{AGENT}/interact/ann/state", {"turns": turns}).status == 200  # noqa: S101
    records = stream.read("conversations")
    received = [one for one in records if "received" in one["dynamodb"].get("NewImage", {})]
    return workspace.workspace_id, webhook_ids, received


def take(queue_name: str) -> list[str]:
    """Return the texts of all messages of a queue, and delete them."""
    sqs, texts = storage.sdk_client("sqs"), []
    url = sqs.get_queue_url(QueueName=queues.name(queue_name))["QueueUrl"]
    while found := sqs.receive_message(QueueUrl=url, MaxNumberOfMessages=10).get("Messages"):
        texts += [one["Body"] for one in found]
        entries = [{"Id": str(number), "ReceiptHandle": one["ReceiptHandle"]} for number, one in enumerate(found)]
        sqs.delete_message_batch(QueueUrl=url, Entries=entries)
    return texts


def listed(workspace_id: str, webhook_id: str, most: int) -> list[tuple[str, str]]:
    """Return the event and the status of each delivery to an endpoint, as its list shows them."""
    rows, _ = ledger.list_page(workspace_id, webhook_id, None, most, None)
    return [(row.event_id, row.status) for row in rows]
