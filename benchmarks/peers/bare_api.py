"""The floor: a function that does the three operations on bare botocore, and nothing else.

Its rules. It answers the same JSON as ours, and reads and writes the same sealed documents with as many requests
(`sealed_store`). It finds the route by a look-up, believes everything that it is sent, and knows one customer: there is
no framework, no credential, no validation, no limit, no answer to an error, no log line and no metric. So everything
that a service does beyond its data is in the ratio to it.
"""

import json
from typing import Any

from benchmarks.peers import answers, sealed_store
from benchmarks.peers.answers import Document


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """The function: a gateway's event in, its answer out."""
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
