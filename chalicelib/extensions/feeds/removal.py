"""Deletes the feeds of a workspace's pull endpoints, for the operator's command."""

from collections import Counter
from itertools import islice

from chalicelib import storage
from chalicelib.extensions.feeds import feed
from chalicelib.webhooks import endpoints

_BATCH = 100


def delete_all(workspace_id: str) -> Counter[str]:
    """Delete all feeds, and return how many rows were deleted, as events. The feeds of deleted endpoints expire."""
    deleted: Counter[str] = Counter()
    for endpoint in endpoints.list_all(workspace_id):
        rows = feed.list_all(workspace_id, endpoint.webhook_id)
        while batch := [*islice(rows, _BATCH)]:
            storage.delete_many(batch)
            deleted["event"] += len(batch)
    return deleted
