"""Every route of `contract/routes.json` with a request that is right for it, and what the engine holds in hand.

For tests that go through all routes. One that is new is in them as soon as it is in the contract: the value for a
variable of its path, or a body that it needs, is missed there until it is here.
"""

import json
import pickle
import re
from pathlib import Path
from string import Template
from typing import Any

from moto.dynamodb.models import dynamodb_backends

from chalicelib.agents import store as agents
from chalicelib.http import auth
from tests.api import Answer, Api
from tests.conftest import drop_history

_LISTED = json.loads((Path(__file__).parent / "contract" / "routes.json").read_text(encoding="utf-8"))
ROUTES = {f"{one['method']} {one['path']}": one for one in _LISTED["specification"] + _LISTED["extensions"]}
GUARDED = [name for name, one in ROUTES.items() if one["credential"] != "none"]

STATE = "POST /agents/{agent_id}/interact/{user_id}/state"
# A body for each route that needs one, as JSON; what is stored of it carries the mark.
BODIES = {
    "POST /v3/agents": '{"agent": {"title": "$mark"}}',
    "PATCH /v3/agents/{agent_id}": '{"agent": {"title": "$mark changed"}}',
    "POST /v2/agents/{agent_id}": '{"title": "$mark"}',
    "POST /v3/agents/{agent_id}/tools": '{"tool": {"name": "$mark"}}',
    "PATCH /v3/tools/{tool_id}": '{"tool": {"name": "$mark changed"}}',
    "POST /v3/agents/{agent_id}/convos": '{"conversation": {"title": "$mark"}}',
    STATE: '{"turns": [{"from": "human", "messages": [{"item": {"text": "$mark"}, "ts": 1}]}], '
    '"metadata": {"userName": "$mark"}}',
    "POST /v2/agents/{agent_id}/analytics/{convo_id}": '{"record": "load", "browser": "$mark"}',
    "POST /v2/clients/{client_id}": '{"name": "$mark", "email": "$mark.$client_id@example.com"}',
    "POST /v2/orgs/{org_id}": '{"name": "$mark"}',
    "POST /v3/leads": '{"lead": {"agentId": "$agent_id", "name": "$mark"}}',
    "POST /v3/tokens": '{"token": {"name": "$mark"}}',
    "POST /v3/webhooks": '{"webhook": {"url": "https://example.com/$mark", "events": ["agent_created"]}}',
    "PATCH /v3/webhooks/{webhook_id}": '{"webhook": {"description": "$mark changed"}}',
}

# Whoever names one of these makes it; what else a route names must be there, and be the caller's.
MADE_WHEN_NAMED = {
    "POST /v2/agents/{agent_id}": {"agent_id"},
    "POST /v2/clients/{client_id}": {"client_id"},
    "POST /v2/orgs/{org_id}": {"org_id"},
    STATE: {"user_id"},
    "POST /v2/agents/{agent_id}/analytics/{convo_id}": {"convo_id"},
}


def send(
    name: str, headers: dict[str, str], ids: dict[str, str], mark: str = "sent", body: str | None = None
) -> Answer:
    """A route with these ids in its path and body."""
    method, path = name.split()
    text = Template(BODIES.get(name, "") if body is None else body).substitute(ids, mark=mark)
    content = {"Content-Type": "application/json"} if text else {}
    return Api().call(method, path.format(**ids), text.encode() or None, {**content, **headers})


def named(name: str) -> list[str]:
    """The ids that a route names in its path and its body."""
    return sorted(set(re.findall(r"(?<=[{$])\w+_id", name + BODIES.get(name, ""))))


def populate(headers: dict[str, str], mark: str, chosen: dict[str, str]) -> dict[str, str]:
    """A record of every kind, through the routes themselves; returns the ids, those that were made among them."""
    ids = {**chosen, "convo_id": chosen["user_id"]}

    def made(name: str) -> str:
        answer = send(name, headers, ids, mark)
        assert answer.status == 200, (name, answer.text)
        return str(answer.json.get("data", {}).get("id"))

    for name in MADE_WHEN_NAMED:
        made(name)
    ids["tool_id"] = made("POST /v3/agents/{agent_id}/tools")
    ids["lead_id"] = made("POST /v3/leads")
    ids["token_id"] = made("POST /v3/tokens")
    ids["webhook_id"] = made("POST /v3/webhooks")
    ids["delivery_id"] = made("POST /v3/webhooks/{webhook_id}/test")
    return ids


def tables() -> dict[str, Any]:
    """moto's tables by name: a look at them costs a hundredth of a scan."""
    held: dict[str, Any] = dynamodb_backends["123456789012"]["eu-west-1"].tables
    return held


def items() -> dict[str, list[dict[str, Any]]]:
    """Every item of every table, byte for byte."""
    return {name: [item.to_json()["Attributes"] for item in table.all_items()] for name, table in tables().items()}


def snapshot() -> bytes:
    """All tables as they are, for `restore`."""
    return pickle.dumps({name: table.items for name, table in tables().items()})


def restore(taken: bytes) -> None:
    """Put all tables back; the process forgets what it remembered of them."""
    for name, held in pickle.loads(taken).items():
        tables()[name].items = held
    drop_history()
    auth.clear_cache()
    agents._known_agents.clear()
