"""Step: webhooks arrive, and the messages in all other queues are processed."""

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from chalicelib import ids
from chalicelib.queues import messages, tasks
from infra.deploy.functions import declared_functions
from tests import extensions
from tests.deployment import cloud
from tests.deployment.rehearsal import NAME, Failed, until

# Events that the operations' examples cause, at least one per stream function.
EVENT_TYPES = {
    "agent_created",
    "agent_updated",
    "agent_deleted",
    "client_created",
    "client_deleted",
    "lead_captured",
    "message_received",
    "organisation_created",
    "organisation_deleted",
    "webhook_test",
}


class Receiver:
    """A webhook receiver that stores the posted bodies."""

    def __init__(self) -> None:
        received = self.received = list[dict[str, Any]]()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                received.append({"id": self.headers.get("webhook-id"), **body})
                self.send_response(200)
                self.end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_port}/hook"

    def types(self) -> set[str]:
        """Return the types of the received events."""
        return {one["type"] for one in self.received}


def await_webhooks(receiver: Receiver) -> int:
    """Wait for a webhook of each event type; return the number of received webhooks."""
    until(
        lambda: receiver.types() >= EVENT_TYPES,
        lambda: f"no webhook arrived for {sorted(EVENT_TYPES - receiver.types())}",
    )
    seen = [one["id"] for one in receiver.received]
    if len(seen) != len(set(seen)):
        raise Failed("An event was delivered twice.")
    return len(seen)


def check_other_queues(here: cloud.Cloud, receiver: Receiver) -> None:
    """Check the functions of all other queues, which the examples do not invoke."""
    sqs = here.sdk("sqs")
    received = len(receiver.received)
    sent = here.sdk("dynamodb").scan(TableName=f"{NAME}-deliveries")["Items"][0]
    workspace_id, webhook_id, _ = sent["webhook"]["S"].split("#")
    again = json.dumps([workspace_id, webhook_id, sent["type"]["S"], [sent["event_id"]["S"]], ids.new_id()])
    agent = f"{workspace_id}#support"
    others = [
        ("deliveries-slow", again),
        *(
            ("maintenance", messages.pack(task))
            for task in (
                tasks.RecountQuarter(agent, "2026-11-22", 0),
                tasks.ContinueFanOut(workspace_id, sent["type"]["S"], ((sent["event_id"]["S"],),)),  # already sent
                tasks.ClearLeftovers(f"{agent}#unknown"),
                tasks.ResumeCascade(workspace_id, "unknown"),
                tasks.ApplyRetention(workspace_id),
            )
        ),
        *_of_extensions(workspace_id),
    ]
    for queue, text in others:
        sqs.send_message(QueueUrl=sqs.get_queue_url(QueueName=f"{NAME}-{queue}")["QueueUrl"], MessageBody=text)
    until(lambda: len(receiver.received) > received, lambda: "the slow queue has delivered nothing")
    for queue in {function.queue for function in declared_functions() if function.queue}:
        _until_empty(sqs, queue)
    for queue in {queue.removesuffix("-slow") for queue, _ in others}:
        if waiting(sqs, f"{queue}-dead"):
            raise Failed(f"There are messages in {queue}-dead.")


def _of_extensions(workspace_id: str) -> Iterator[tuple[str, str]]:
    """Yield a queue name and a message for each kind of message in the extensions' queues."""
    queues = {function.name: function.queue for function in declared_functions() if function.queue}
    for name, (_, texts) in extensions.queue_functions(workspace_id, "support", "unknown").items():
        yield from ((queues[name], text) for text in texts)


def _until_empty(sqs: Any, queue: str) -> None:
    until(lambda: waiting(sqs, queue) == 0, lambda: f"messages remain in {queue}")


def waiting(sqs: Any, queue: str) -> int:
    """Return the number of messages in a queue, including messages in flight."""
    names = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    url = sqs.get_queue_url(QueueName=f"{NAME}-{queue}")["QueueUrl"]
    return sum(
        int(number) for number in sqs.get_queue_attributes(QueueUrl=url, AttributeNames=names)["Attributes"].values()
    )
