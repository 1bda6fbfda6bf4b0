"""The deletion of the reports' rows of a workspace, for the operator's command."""

from collections import Counter

from chalicelib import storage
from chalicelib.extensions.reports.counts import NO_AGENT, DayRow


def delete_all(workspace_id: str) -> Counter[str]:
    """Delete the counts that belong to no agent, and return their number. Others are deleted with their agent."""
    rows = [*storage.iterate(DayRow, storage.join_key(workspace_id, NO_AGENT))]
    storage.delete_many(rows)
    return Counter(tally=len(rows))
