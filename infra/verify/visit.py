"""Checks that use the stage: a temporary workspace, the tour, and the effects of the stream functions.

The checks share the tour's workspace and run in the order of `CHECKS`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from chalicelib import clock, ids, storage
from chalicelib.agents.store import AgentRow
from chalicelib.clients.store import ClientRow
from chalicelib.conversations import listing, tallies
from chalicelib.conversations.store import ConversationRow
from chalicelib.leads.store import LeadRow
from chalicelib.organisations.store import OrganisationRow
from chalicelib.queues import messages, tasks
from chalicelib.storage import encryption, parent_scoped_ids
from chalicelib.webhooks.endpoints import WebhookRow
from chalicelib.workspaces.store import NewWorkspace, WorkspaceRow
from infra.deploy import sample
from infra.verify import tour
from infra.verify.client import Client
from infra.verify.deployment import Deployment, Note

# A new event source mapping takes several minutes to start reading its stream, and functions batch changes for a
# minute.
PATIENCE_SECONDS = 600
_POLL_SECONDS = 1.0
# Each event type with the function that triggers it, from a stream or, for the test event, from a queue.
_EVENTS = {
    "agent_created": "fan_out_agents",
    "message_received": "fan_out_conversations",
    "client_created": "fan_out_clients",
    "organisation_created": "fan_out_organisations",
    "lead_captured": "fan_out_leads",
    "webhook_test": "deliver",
}


class Visit(NamedTuple):
    """A stage and its temporary workspace. Every wait ends at `deadline`, a monotonic clock reading."""

    stage: Deployment
    workspace: NewWorkspace
    client: Client
    webhook_id: str
    deadline: float

    def wait_for(self, expected: dict[str, str], kinds: Callable[[], set[str]]) -> Iterator[tuple[str, str]]:
        """Wait for the expected kinds until the deadline; yield each missing kind with its function.

        Raise OSError if the last response from the API is an error.
        """
        while True:
            is_last = time.monotonic() >= self.deadline
            try:
                missing = expected.keys() - kinds()
                if is_last or not missing:
                    break
            except OSError:
                if is_last:
                    raise
            time.sleep(_POLL_SECONDS)
        for name in sorted(missing):
            yield name, expected[name]

    def list_page(self, path: str) -> list[dict[str, Any]]:
        """Return a page of a list. Raise OSError if the response is an error."""
        response = self.client.send("GET", path)
        envelope = response.body if isinstance(response.body, dict) else {}
        if response.status != 200:
            raise OSError(f"GET {path} returned {response.status} {envelope.get('code')}.")
        data: list[dict[str, Any]] = envelope["data"]
        return data

    def invoke(self, name: str, *packed: tuple[Any, ...]) -> Iterator[str]:
        """Invoke a queue function with these messages, as Lambda does; yield a problem if it fails."""
        function = next(one for one in self.stage.functions if one.name == name)
        deployed = function.deployed_name(self.stage.name)
        records = [_sqs_record(number, text) for number, text in enumerate(map(messages.pack, packed))]
        response = self.stage.sdk("lambda").invoke(
            FunctionName=deployed, Payload=json.dumps({"Records": records}).encode()
        )
        answer = json.loads(response["Payload"].read() or b"null") or {}
        if response.get("FunctionError"):
            yield f"The function {deployed} failed with {answer.get('errorType', 'an error')}: check its log."
        elif answer.get("batchItemFailures"):
            yield f"The function {deployed} could not process a message: check its log."


def begin(stage: Deployment, workspace: NewWorkspace, patience: float) -> tuple[Visit, list[str]]:
    """Create a webhook endpoint and take the tour; return the visit, and a problem for each unexpected response.

    The checks wait for the functions until `patience` seconds after the tour.

    The endpoint is the API itself. The API accepts or rejects the webhook, and the delivery list shows the outcome.
    """
    client = Client(stage.address, workspace.workspace_key)
    events = [event for event in _EVENTS if event != "webhook_test"]
    url = f"https://{stage.address.partition('://')[2]}/v3/agents"
    response = client.send("POST", "/v3/webhooks", {"webhook": {"url": url, "events": events}})
    webhook_id = (response.body or {}).get("data", {}).get("id", "")
    problems = [] if webhook_id else [f"POST /v3/webhooks returned {response.status}: {response.body}."]
    problems += tour.take(client)
    client.send("POST", f"/v3/webhooks/{webhook_id}/test")
    return Visit(stage, workspace, client, webhook_id, time.monotonic() + patience), problems


def check_encryption(visit: Visit) -> Iterator[str]:
    """Check that the tour's stored records are encrypted: each record decrypts and contains no plain text."""
    dynamodb, workspace_id = visit.stage.sdk("dynamodb"), visit.workspace.workspace_id
    of_agent = parent_scoped_ids.partition(workspace_id, tour.AGENT)
    partitions: tuple[tuple[type[storage.Row], str], ...] = (
        (WorkspaceRow, workspace_id),
        (AgentRow, of_agent),
        (LeadRow, of_agent),
        (ConversationRow, storage.join_key(workspace_id, tour.AGENT, tour.PERSON)),
        (ClientRow, workspace_id),
        (OrganisationRow, workspace_id),
        (WebhookRow, workspace_id),
    )
    for row, partition in partitions:
        table, keys = row.Meta.table_name, [row._hash_keyname, row._range_keyname]
        items = dynamodb.query(
            TableName=table,
            KeyConditionExpression="#key = :partition",
            ExpressionAttributeNames={"#key": keys[0]},
            ExpressionAttributeValues={":partition": {"S": partition}},
        )["Items"]
        if not items:
            yield f"The table {table} has no record of the tour."
        for item in items:
            plain = [text for text in tour.TEXTS if text.encode() in repr(item).encode()]
            if plain:
                yield f"A record of {table} contains {', '.join(plain)} in plain text: it is not encrypted."
            try:
                sample.decrypt(table.removeprefix(f"{visit.stage.name}-"), [item[key]["S"] for key in keys], item)
            except encryption.DecryptionError:
                yield f"A record of {table} cannot be decrypted with the stage's keys."


def check_webhooks(visit: Visit) -> Iterator[str]:
    """Check that each event type has a delivery with an outcome."""
    path, outcomes = f"/v3/webhooks/{visit.webhook_id}/deliveries?limit=100", dict[str, Any]()

    def kinds() -> set[str]:
        outcomes.update(
            {
                delivery["type"]: delivery
                for delivery in visit.list_page(path)
                if delivery["status"] in ("delivered", "failed")
            }
        )
        return set(outcomes)

    for event, function in visit.wait_for(_EVENTS, kinds):
        yield f"No webhook {event} was sent: check the logs of {visit.stage.name}-{function} and of the deliveries."
    if outcomes:
        test = outcomes.get("webhook_test") or next(iter(outcomes.values()))
        answer = test.get("responseStatus") or test.get("error")
        yield Note(f"the API, as the receiver, responded to the webhook with: {answer}")


def check_tallies(visit: Visit) -> Iterator[str]:
    """Check that the tour's conversation is counted."""
    workspace_id = visit.workspace.workspace_id
    agent, quarters = storage.join_key(workspace_id, tour.AGENT), listing.list_quarters(workspace_id, tour.AGENT)
    yield from visit.invoke("maintain", *(tasks.RecountQuarter(agent, *quarter) for quarter in quarters))
    if not tallies.list_months(workspace_id, tour.AGENT):
        yield f"{visit.stage.name}-maintain did not count the tour's conversation: check its log."
    # An empty invocation verifies that the function starts and may be invoked.
    yield from visit.invoke("follow_conversations")


def check_queue_functions(visit: Visit) -> Iterator[str]:
    """Invoke the queue functions that the tour does not reach, because it creates too few records."""
    workspace_id = visit.workspace.workspace_id
    yield from visit.invoke("maintain", tasks.ContinueFanOut(workspace_id, "agent_created", ((ids.new_id(),),)))


def check_cascade(visit: Visit) -> Iterator[str]:
    """Check that deleting the agent also deletes its records."""
    response = visit.client.send("DELETE", f"/v3/agents/{tour.AGENT}")
    if response.status != 200:
        yield f"DELETE /v3/agents/{tour.AGENT} returned {response.status}: {response.body}."
        return
    yield from visit.invoke("maintain", tasks.ResumeCascade(visit.workspace.workspace_id, tour.AGENT))
    for path in (f"/v3/agents/{tour.AGENT}", f"/v3/agents/{tour.AGENT}/leads"):
        status = visit.client.send("GET", path).status
        if status != 404:
            yield f"GET {path} returned {status} after the agent was deleted, not 404."


Check = Callable[[Visit], Iterator[str]]
"""A check of a visit, which yields a sentence for each problem."""
CHECKS: dict[str, Check] = {
    "encryption": check_encryption,
    "webhooks": check_webhooks,
    "tallies": check_tallies,
    "queue functions": check_queue_functions,
}
"""Checks keyed by name, in the order in which they run."""
DELETIONS: dict[str, Check] = {"cascade": check_cascade}
"""Checks that delete the records of the other checks."""


def _sqs_record(number: int, text: str) -> dict[str, Any]:
    attributes = {"ApproximateReceiveCount": "1", "SentTimestamp": str(clock.milliseconds())}
    known = {"messageId": f"verify-{number}", "receiptHandle": "verify", "eventSource": "aws:sqs"}
    return {**known, "body": text, "attributes": attributes, "messageAttributes": {}}
