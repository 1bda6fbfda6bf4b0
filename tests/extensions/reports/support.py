"""The reports in the core tests: their queue function with a message, and changes to count."""

from collections.abc import Sequence
from typing import Any

import pytest

from chalicelib import clock, ids, queues, storage
from chalicelib.conversations.counted_changes import CountedChange
from chalicelib.extensions.reports import counts, functions
from chalicelib.extensions.reports.extension import QUEUE
from chalicelib.extensions.reports.queue import RecountHour
from chalicelib.queues import messages
from chalicelib.workspaces import store as workspaces
from tests.api import Api
from tests.builders import lead_body, state_body
from tests.deletion.cascades import as_record
from tests.extensions import QueueFunctions
from tests.followers import follow
from tests.webhooks import pipeline

FUNCTION_MODULES = (functions,)
QUEUES = (QUEUE,)
TESTED_PARAMETERS = ("interval", "by", "tz")
LISTS = ("/v3/usage",)
READS = ("POST /v3/agents/{agent_id}/usage",)
NO_WRITES: list[tuple[Any, ...]] = [("usage read", "POST /v3/agents/{agent_id}/usage", {})]
PAGE_COSTS = {"/v3/usage": "usage of 1,000 agents", "/v3/usage?limit=100": "usage of 1,000 agents"}
COSTS: list[tuple[Any, ...]] = [
    ("report of a workspace", "GET /v3/analytics", {"Query": 9, "BatchGetItem": 1}),
    ("usage", "GET /v3/usage", {"Query": 12, "BatchGetItem": 1}),
    ("usage of an agent", "POST /v3/agents/{agent_id}/usage", {"GetItem": 1, "Query": 2, "BatchGetItem": 1}, {}),
    ("report of an agent", "GET /v3/agents/{agent_id}/analytics", {"GetItem": 1, "Query": 2, "BatchGetItem": 1}),
    ("report of an organisation", "GET /v3/orgs/{org_id}/analytics", {"GetItem": 1, "Query": 3, "BatchGetItem": 1}),
]


def queue_functions(workspace_id: str, agent_id: str, client_id: str) -> QueueFunctions:
    """Return the queue function by name, with a message for it."""
    message = RecountHour(storage.join_key(workspace_id, agent_id), clock.seconds(), 0)
    return {"count_hours": (functions.count_hours, [messages.pack(message)])}


def wrong_members() -> dict[str, list[tuple[Any, str, str]]]:
    """Return invalid bodies: (body, member path, rule)."""
    from tests.bad_input.service import CANARY, NUMBER
    from tests.bad_input.wrong_members import OBJECT, UNKNOWN

    moment, order = "must be a time in ISO 8601 or in Unix seconds", "must be before to, by at most 366 days"
    return {
        "POST /v3/agents/{agent_id}/usage": [
            ({"range": CANARY}, "range", OBJECT),
            ({"unknown": CANARY}, "unknown", UNKNOWN),
            ({"range": {"unknown": CANARY}}, "range.unknown", UNKNOWN),
            ({"range": {"from": CANARY}}, "range.from", moment),
            ({"range": {"to": -NUMBER}}, "range.to", moment),
            ({"range": {"from": [CANARY]}}, "range.from", moment),
            ({"range": {"from": True}}, "range.from", moment),
            ({"range": {"from": "2026-11-02", "to": "2026-11-02T00:00Z"}}, "range.from", order),
        ]
    }


def fill_agent(workspace_id: str, agent_id: str) -> None:
    """Record a change that the reports count for an agent."""
    counts.record_changes([CountedChange(storage.join_key(workspace_id, agent_id), ids.new_id(), {"loads": 1}, {})])


def run_functions() -> None:
    """Count a page load, a conversation and a lead, in a report and in the function, and then delete the agent."""
    new, stream, requests = workspaces.create("Reported"), pipeline.Stream(), list[str]()
    api, send = Api(new.workspace_key), queues.send

    def capture(queue: str, texts: Sequence[str], *rest: Any) -> None:
        requests.extend(texts if queue == QUEUE else ())
        send(queue, texts, *rest)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(queues, "send", capture)
        assert api.post("/v2/agents/support", {}).status == 200
        assert api.post("/v2/agents/support/analytics/ann", {"record": "load"}).status == 200
        assert api.post("/agents/support/interact/ann/state", state_body("Hello")).status == 200
        assert api.post("/v3/leads", lead_body(name="Ann")).status == 200
        for table in ("analytics", "leads", "conversations"):
            follow(table, stream.read(table))
        patch.setattr(counts, "MAX_CHANGES", 2)  # the report counts the hour itself
        assert api.get("/v3/agents/support/analytics").data["totals"]["loads"] == 1
        assert api.post("/v2/agents/support/analytics/bo", {"record": "load"}).status == 200
        follow("analytics", stream.read("analytics"))
        hourly = requests[0]  # all recount requests are for the same hour
        _count(hourly)
        assert api.get("/v3/agents/support/analytics").data["totals"]["loads"] == 2
        hour = messages.parse(hourly, [RecountHour])
        _count(messages.pack(hour._replace(agent=storage.join_key(new.workspace_id, counts.NO_AGENT))))
        assert api.delete("/v3/agents/support").status == 200


def _count(text: str) -> None:
    assert functions.count_hours({"Records": [as_record(text)]}, None) == {"batchItemFailures": []}
