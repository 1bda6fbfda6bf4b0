"""The floor: a function with the three operations on bare botocore, and nothing else.

It returns the same JSON as CAMS, and reads and writes the same sealed documents with the same number of requests
(`sealed_store`). It serves one customer, finds the route in a dictionary and trusts its input. It has no framework,
credentials, validation, limits, error handling, logs or metrics. The ratio to it shows the cost of all of these.
"""

import json
from typing import Any

from benchmarks.peers import answers, sealed_store
from benchmarks.peers.answers import Document


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Answer a gateway event."""
    answer = _ROUTES[event["httpMethod"], event["resource"]](event)
    body = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    return {"statusCode": 200, "headers": {"Content-Type": "application/json"}, "body": body}


def _read_agent(event: dict[str, Any]) -> Document:
    agent_id = event["pathParameters"]["agent_id"]
    return answers.agent(agent_id, sealed_store.agent(agent_id))


def _list_conversations(event: dict[str, Any]) -> Document:
    return answers.page(*sealed_store.page(event["pathParameters"]["agent_id"]))


def _replace_state(event: dict[str, Any]) -> Document:
    return sealed_store.replace(**event["pathParameters"], sent=json.loads(event["body"])["turns"])


_ROUTES = {
    ("GET", "/v3/agents/{agent_id}"): _read_agent,
    ("GET", "/v2/agents/{agent_id}/convos"): _list_conversations,
    ("POST", "/agents/{agent_id}/interact/{user_id}/state"): _replace_state,
}
