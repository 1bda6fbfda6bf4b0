"""The minimum: a function that contains only the three operations, on bare botocore.

It returns the same JSON as CAMS, and reads and writes the same sealed documents with the same number of requests
(`sealed_store`). It serves one customer, finds the route in a dictionary and trusts its input. It has no framework,
credentials, validation, limits, error handling, logs or metrics. The ratio to it shows the cost of all of these.
Like CAMS, it copies an agent's stored JSON text into the response without parsing it.
"""

import json
from typing import Any

from benchmarks.peers import sealed_store


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Return the response to a gateway event."""
    return _response(_ROUTES[event["httpMethod"], event["resource"]](event))


def parsing_handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Return the response with an agent. Unlike CAMS, parse the stored document and encode it again."""
    return _response(_json(sealed_store.agent(**event["pathParameters"])))


def _response(body: str) -> dict[str, Any]:
    return {"statusCode": 200, "headers": {"Content-Type": "application/json"}, "body": body}


def _json(document: dict[str, Any]) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


_ROUTES = {
    ("GET", "/v3/agents/{agent_id}"): lambda event: sealed_store.agent_text(**event["pathParameters"]),
    ("GET", "/v2/agents/{agent_id}/convos"): lambda event: _json(sealed_store.page(**event["pathParameters"])),
    ("POST", "/agents/{agent_id}/interact/{user_id}/state"): lambda event: _json(
        sealed_store.replace(**event["pathParameters"], sent=json.loads(event["body"])["turns"])
    ),
}
