"""Deletes a workspace's erasure rows, for the operator's command."""

from collections import Counter

from chalicelib import storage
from chalicelib.extensions.erasures import store


def delete_all(workspace_id: str) -> Counter[str]:
    """Delete all of a workspace's erasure rows, and return how many were deleted."""
    rows = store.list_all(workspace_id)
    storage.delete_many(rows)
    return Counter(erasure=len(rows))
