"""All API operations from `contract/routes.json`, with valid bodies and path values.

Tests use this module to send every operation or to create a record of any kind. A new operation needs a change here
only if its path contains a new parameter or a new resource (`_RESOURCES`).
"""

import json
import re
from pathlib import Path
from string import Template
from typing import Any

from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.extensions import enabled
from tests import extensions
from tests.api import Answer, Api

_LISTED = json.loads((Path(__file__).parent / "contract" / "routes.json").read_text(encoding="utf-8"))
ROUTES = {
    f"{one['method']} {one['path']}": one
    for one in _LISTED["specification"] + _LISTED["additions"]
    if one.get("extension") in (None, *(extension.name for extension in enabled()))
}
DISABLED = {f"{one['method']} {one['path']}" for one in _LISTED["additions"]} - ROUTES.keys()
"""Operations of extensions that are off."""
GUARDED = [name for name, one in ROUTES.items() if one["credential"] != "none"]

STATE = "POST /agents/{agent_id}/interact/{user_id}/state"
MESSAGES = "POST /agents/{agent_id}/interact/{user_id}/messages"
ANALYTICS = "POST /v2/agents/{agent_id}/analytics/{convo_id}"
BODIES: dict[str, Any] = {name: one["body"] for name, one in ROUTES.items() if "body" in one}
# Operation -> its required query parameters.
QUERIES = {name: one["query"] for name, one in ROUTES.items() if "query" in one}

# Default values of caller-chosen ids.
CHOSEN = {
    "agent_id": "support",
    "user_id": "ann",
    "convo_id": "ann",
    "message_id": "m1",
    "client_id": "ann",
    "org_id": "acme",
    **extensions.joined("CHOSEN"),
}
# Path parameter -> the operation that creates the record, in creation order.
CREATED_BY = {
    "agent_id": "POST /v2/agents/{agent_id}",
    "client_id": "POST /v2/clients/{client_id}",
    "org_id": "POST /v2/orgs/{org_id}",
    "user_id": STATE,
    "convo_id": ANALYTICS,
    "message_id": MESSAGES,
    "tool_id": "POST /v3/agents/{agent_id}/tools",
    "lead_id": "POST /v3/leads",
    "token_id": "POST /v3/tokens",
    "webhook_id": "POST /v3/webhooks",
    "delivery_id": "POST /v3/webhooks/{webhook_id}/test",
    **extensions.joined("CREATED_BY"),
}
# Operation -> the path parameters whose record it creates if missing. All other records must exist and belong to the
# caller.
CREATED_WHEN_NAMED = {name: {variable} for variable, name in CREATED_BY.items() if variable in CHOSEN}
CREATED_WHEN_NAMED[MESSAGES] = {"user_id", "message_id"}  # the first message creates the conversation
CREATED_WHEN_NAMED["POST /agents/{agent_id}/interact/{user_id}/visitor-tokens"] = {"user_id"}  # no conversation needed
CREATED_WHEN_NAMED["PATCH /v3/agents/{agent_id}/convos/{convo_id}/messages"] = {"message_id"}
CREATED_WHEN_NAMED |= extensions.joined("CREATED_WHEN_NAMED")
# A client and an organisation may refer to records that do not exist.
for _name in ("POST /v2/clients/{client_id}", "PUT /v2/clients", "POST /v3/clients"):
    CREATED_WHEN_NAMED[_name] = {"client_id", "org_id"}
for _name in ("POST /v2/orgs/{org_id}", "PUT /v2/orgs", "POST /v3/orgs"):
    CREATED_WHEN_NAMED[_name] = {"org_id", "agent_id", "client_id"}

# Operation -> its path variables whose records are of a kind that only this operation accepts, and the names of their
# ids. The extensions' `populate` creates these records.
OTHER_IDS: dict[str, dict[str, str]] = extensions.joined("OTHER_IDS")

# Resources that scopes name. A v3 operation's resource is the last of these in its path.
_RESOURCES = {
    "agents": "agents",
    "tools": "tools",
    "convos": "conversations",
    "analytics": "analytics",
    "usage": "analytics",
    "leads": "leads",
    "clients": "clients",
    "orgs": "organisations",
    "webhooks": "webhooks",
}


# Operations that change nothing, although their method is not `GET`.
_READS = {*extensions.listed("READS")}


def scope_of(name: str) -> str:
    """Return the scope that permits a v3 operation."""
    method, path = name.split()
    (*_, resource) = [_RESOURCES[part] for part in path.split("/") if part in _RESOURCES]
    return f"{resource}:{'read' if method == 'GET' or name in _READS else 'write'}"


def body_of(name: str, mark: str = "Sent", **ids: str) -> Any:
    """Return a valid body for an operation, or None if the operation has no body."""
    return _filled(BODIES.get(name), {**CHOSEN, **ids, "mark": mark})


def _filled(value: Any, words: dict[str, str]) -> Any:
    if isinstance(value, str):
        return Template(value).substitute(words)
    if isinstance(value, dict):
        return {name: _filled(inner, words) for name, inner in value.items()}
    return [_filled(inner, words) for inner in value] if isinstance(value, list) else value


def send(
    name: str, headers: dict[str, str], ids: dict[str, str], mark: str = "sent", body: str | None = None
) -> Answer:
    """Send an operation with these ids in its path and body. The JSON `body` replaces the default body."""
    method, path = name.split()
    ids = {**ids, **{variable: ids[other] for variable, other in OTHER_IDS.get(name, {}).items() if other in ids}}
    if body is None:
        body = json.dumps(BODIES[name]) if name in BODIES else ""
    text = Template(body).substitute({**ids, "mark": mark})
    content = {"Content-Type": "application/json"} if text else {}
    return Api().call(method, path.format(**ids) + QUERIES.get(name, ""), text.encode() or None, {**content, **headers})


def named(name: str) -> list[str]:
    """Return the names of the ids in an operation's path and body."""
    others = OTHER_IDS.get(name, {})
    return sorted({others.get(one, one) for one in re.findall(r"(?<=[{$])\w+_id", name + json.dumps(BODIES.get(name)))})


def populate(headers: dict[str, str], mark: str, chosen: dict[str, str]) -> dict[str, str]:
    """Create a record of every kind through the API, and return all chosen and generated ids."""
    ids = {**chosen, "convo_id": chosen["user_id"], "message_id": chosen["user_id"], **extensions.joined("CHOSEN")}
    for variable, name in CREATED_BY.items():
        answer = send(name, headers, ids, mark)
        assert answer.status == 200, (name, answer.text)
        if variable not in ids:
            ids[variable] = str(answer.json["data"]["id"])
    caller = credentials.find_active(tokens.fingerprint(headers["Authorization"].removeprefix("Bearer ")))
    assert caller is not None
    extensions.populate(caller.workspace, ids, mark)
    return ids
