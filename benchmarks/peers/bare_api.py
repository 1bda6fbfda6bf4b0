"""The minimum: a function that contains only the three operations, on bare botocore.

It returns the same JSON as CAMS, and reads and writes the same sealed documents with the same number of requests
(`sealed_store`). It serves one customer, finds the route in a dictionary and trusts its input. It has no framework,
credentials, validation, limits, error handling, logs or metrics. The ratio to it shows the cost of all of these.
"""

import json
from typing import Any

from benchmarks.peers import sealed_store


def handler(event: dict[str, Any], context: Any) -> dict[str, Any]:
    """Return the response to a gateway event."""
    answer = _ROUTES[event["httpMethod"], event["resource"]](event)
    body = json.dumps(answer, ensure_ascii=False, separators=(",", ":"))
    return {"statusCode": 200, "headers": {"Content-Type": "application/json"}, "body": body}


_ROUTES = {
    ("GET", "/v3/agents/{agent_id}"): lambda event: sealed_store.agent(**event["pathParameters"]),
    ("GET", "/v2/agents/{agent_id}/convos"): lambda event: sealed_store.page(**event["pathParameters"]),
    ("POST", "/agents/{agent_id}/interact/{user_id}/state"): lambda event: sealed_store.replace(
        **event["pathParameters"], sent=json.loads(event["body"])["turns"]
    ),
}
