"""What a change of a delivery counts in the usage of its agent: read from the record of the stream alone.

A delivery counts when the outcome of its POST is recorded. One that is not sent, because it has expired, does not.
"""

from typing import Any

from chalicelib import ids, storage
from chalicelib.analytics import store as analytics
from chalicelib.analytics.store import NO_AGENT, ChangeRow, Happened
from chalicelib.webhooks import ledger

_SENT = (ledger.DELIVERED, ledger.FAILED)


def change_row(record: dict[str, Any]) -> ChangeRow | None:
    """The row of what a record of a stream counts; None for nothing."""
    new, old = (record["dynamodb"].get(name, {}) for name in ("NewImage", "OldImage"))
    if "outcome" not in new or "outcome" in old or new["outcome"]["S"] not in _SENT:
        return None
    # A delivery of the release before this one has no agent.
    workspace_id, *_ = storage.split_key(new["webhook"]["S"])
    agent_id = new.get("agent_id", {"S": NO_AGENT})["S"]
    agent, tag = storage.key(workspace_id, agent_id), new["version_tag"]["S"]
    # A delivery may wait for four days, and its agent may be deleted and created again.
    requested_at = ids.timestamp_of(new["delivery_id"]["S"]) // 1000
    return analytics.change_row(Happened(agent, tag, {"deliveries": 1}, {}, requested_at))
