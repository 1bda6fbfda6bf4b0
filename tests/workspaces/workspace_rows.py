"""Helpers that fill a workspace with a row of every kind, and find its rows."""

from typing import Any

from click.testing import CliRunner

from chalicelib import extensions, storage
from chalicelib.webhooks import events, hosts
from chalicelib.workspaces.store import NewWorkspace
from infra.operator.commands import cams
from tests.api import Api
from tests.builders import message, state_body, webhook_body
from tests.moto_tables import items
from tests.operation_cases import large
from tests.operations import populate
from tests.storage.row_classes import RowClass, class_of
from tests.webhooks import pipeline

# The names that a workspace and its neighbour share.
CHOSEN = {"agent_id": "support", "user_id": "ann", "client_id": "ann", "org_id": "acme"}


def fill(made: NewWorkspace, url: str) -> None:
    """Create a row of every kind in a workspace, through the service and its functions."""
    api = Api(made.workspace_key)
    stream = pipeline.Stream()
    everything = webhook_body(url, *events.TYPES)
    removed = api.post("/v3/webhooks", everything).data["id"]
    api.post("/v3/webhooks", everything)
    populate(api._headers, "one", dict(CHOSEN))
    populate(api._headers, "two", {name: f"{one}-2" for name, one in CHOSEN.items()})
    api.patch("/v3/workspace", {"workspace": {"retentionDays": 30}})
    api.post("/v3/tokens", {"token": {"name": "scoped", "scopes": ["agents:read", "leads:write"]}})
    api.post("/v2/agents/support", {"SECRET_API_KEY": None})  # revokes its keys
    unknown = {"": {"__proto__": [None, 1e16]}, "a.b": "\u2028"}
    api.post("/v2/agents/support-2", {"description": "é 😀", "vg_temperature": 0.5, "newer": unknown, **unknown})
    api.post("/v2/agents/support/analytics/ann", {"record": "convo", "ts": 1})
    state = "/agents/support/interact/{}/state"
    api.post(state.format("ann"), state_body("one", "two"))
    api.post(state.format("ann"), state_body("three"))  # removes the other messages, which the conversation remembers
    api.post(state.format("long"), large(1))
    odd = message("odd", item={"numbers": [1e16, 1.0, -0.0, 12345678901234567890, 1e-7], "text": "\u2028"})
    api.post(state.format("odd"), {"turns": [{"from": "human", "messages": [odd]}]})
    headers = {**api._headers, "Content-Type": "application/json", "Idempotency-Key": "once"}
    assert api.call("POST", state.format("kept"), large(2), headers).status == 200
    pipeline.fan_out(stream.read())
    pipeline.drain()
    assert CliRunner().invoke(cams, ["tallies", "recount", "--workspace", made.workspace_id]).exit_code == 0
    hosts.promote(made.workspace_id, "example.com:443")
    # Without such a hook, deliveries to a deleted endpoint cannot be found until they expire.
    if extensions.hooks("cascade_deletions"):
        api.delete(f"/v3/webhooks/{removed}")


def of(workspace_id: str) -> dict[str, int]:
    """Return the number of items that name a workspace, by table."""
    counts = {name: sum(workspace_id in repr(one) for one in rows) for name, rows in items().items()}
    return {name: count for name, count in counts.items() if count}


def rows_of(made: NewWorkspace) -> dict[str, list[Any]]:
    """Return the items that name a workspace, by table."""
    return {name: [one for one in rows if made.workspace_id in repr(one)] for name, rows in items().items()}


def stored_classes(workspace_id: str) -> set[RowClass]:
    """Return the row classes of the items that name a workspace."""
    prefix = storage.table("")
    named = [(table, item) for table, rows in items().items() for item in rows if workspace_id in repr(item)]
    return {class_of(table.removeprefix(prefix), item) for table, item in named}
