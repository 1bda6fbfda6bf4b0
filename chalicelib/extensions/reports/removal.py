"""Deletes a workspace's report rows, for the operator's command."""

from collections import Counter

from chalicelib import storage
from chalicelib.extensions.reports.counts import NO_AGENT, DayRow


def delete_all(workspace_id: str) -> Counter[str]:
    """Delete counts that belong to no agent, and return how many were deleted. Others are deleted with their agents."""
    rows = [*storage.iterate(DayRow, storage.join_key(workspace_id, NO_AGENT))]
    storage.delete_many(rows)
    return Counter(tally=len(rows))
