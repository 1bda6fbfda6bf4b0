"""Step: call every operation with every example."""

import json
from typing import Any
from urllib.parse import quote, urlencode

from chalicelib.openapi.examples import EXAMPLES
from tests.deployment.rehearsal import Failed
from tests.deployment.rehearsal_client import Gateway
from tests.openapi.document import ExampleValues, path_value


def call_every_operation(api: Gateway) -> int:
    """Call every operation with every example, in order; return the number of calls.

    Operations without examples return a file, or use another operation's examples. They are called before deletions.
    """
    document = Gateway(api.address).call("GET", "/openapi.json")
    operations = {
        description["operationId"]: (method.upper(), path, description)
        for path, item in document["paths"].items()
        for method, description in item.items()
    }
    known, calls = ExampleValues(), 0
    names = [*EXAMPLES, *sorted(operations.keys() - EXAMPLES.keys())]
    for name in sorted(
        names, key=lambda operation_id: (operation_id.startswith("delete_"), operation_id == "delete_agent")
    ):
        method, path, description = operations[name]
        # Versions are stored later by a stream function. The examples' endpoint has a URL, so it has no feed;
        # `make verify`, which the rehearsal runs, reads a feed.
        # The v3 operations have already deleted what the operations below `/agents/` would delete.
        if "{number}" in path or name == "list_events" or (name.startswith("delete_") and path.startswith("/agents/")):
            continue
        parameters = [_resolved(document, one) for one in description.get("parameters", ())]
        query = {one["name"]: one["example"] for one in parameters if one["in"] == "query" and one.get("required")}
        for request, expected in _examples(name, description):
            values = {one["name"]: str(known.substitute(path_value(one))) for one in parameters if one["in"] == "path"}
            address = path.format(**{key: quote(value, safe="") for key, value in values.items()})
            if name in _TWINS:
                api.call("POST", address, {"name": "Created again"})
            answer = api.ask(method, f"{address}?{urlencode(query)}" if query else address, known.substitute(request))
            if answer.status != 200:
                raise Failed(f"{name} returned {answer.status}:  {answer.body.decode()}")
            if expected is not None:
                known.learn(expected, json.loads(answer.body))
            calls += 1
    return calls


# Deletions whose records the v3 operations have already deleted.
_TWINS = {"delete_client_v2", "delete_organisation_v2"}


def _examples(name: str, description: dict[str, Any]) -> list[tuple[Any, Any]]:
    """Return an operation's example requests, each with its response, or None if the response is not used."""
    if name in EXAMPLES:
        return [(example.request, example.answer) for example in EXAMPLES[name].values()]
    bodies = description.get("requestBody", {}).get("content", {}).get("application/json", {}).get("examples", {})
    return [(one["value"], None) for one in bodies.values()] or [(None, None)]


def _resolved(document: dict[str, Any], node: dict[str, Any]) -> dict[str, Any]:
    """Return the node, or the node that it refers to."""
    for step in node["$ref"].split("/")[1:] if "$ref" in node else ():
        node = document if step == "components" else node
        node = node[step]
    return node
