"""What a change of a delivery counts in the usage of its agent: read from the record of the stream alone.

A delivery counts when the outcome of its POST is recorded. One that is not sent, because it has expired, does not.
"""

from collections.abc import Iterable, Iterator
from typing import Any

from chalicelib import storage
from chalicelib.analytics.store import NO_AGENT, Happened
from chalicelib.webhooks import ledger

_SENT = (ledger.DELIVERED, ledger.FAILED)


def in_records(records: Iterable[dict[str, Any]]) -> Iterator[Happened]:
    """What the records of a stream count."""
    for record in records:
        new, old = (record["dynamodb"].get(name, {}) for name in ("NewImage", "OldImage"))
        if "outcome" in new and "outcome" not in old and new["outcome"]["S"] in _SENT:
            # A delivery of the release before this one has no agent.
            workspace_id, *_ = storage.split_key(new["webhook"]["S"])
            agent_id = new.get("agent_id", {"S": NO_AGENT})["S"]
            yield Happened(storage.key(workspace_id, agent_id), new["version_tag"]["S"], {"deliveries": 1}, {})
