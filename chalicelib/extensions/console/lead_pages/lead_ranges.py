"""The query for all leads, and leads from the oldest. The API lists them from the newest."""

from collections.abc import Iterator
from functools import partial

from chalicelib import ids, storage
from chalicelib.http import pages
from chalicelib.leads import store
from chalicelib.leads.listing import LeadQuery
from chalicelib.leads.store import LeadRow
from chalicelib.storage import parent_scoped_ids

EVERY_LEAD = LeadQuery(None, None, None, "", None)
"""Selects all leads of all agents."""


def oldest_first(workspace_id: str, query: LeadQuery, limit: int) -> pages.PositionedRows[LeadRow]:
    """Yield the leads to examine with their positions, oldest first.

    This costs one request for the first `limit` leads, then one per 100 leads.
    """
    return pages.in_portions(partial(_fetch, workspace_id, query), query.after, limit, store.ulid_of)


def _fetch(workspace_id: str, query: LeadQuery, after: str | None, limit: int) -> Iterator[LeadRow]:
    """Yield up to `limit` leads after the ULID `after`. All agents' leads are in an eventually consistent index."""
    first = max(ids.id_at((query.since or 0) * 1000, 0), f"{after}0" if after else "")
    last = ids.highest_before(ids.HIGHEST if query.until is None else ids.id_at(query.until * 1000, 0))
    if last < first:
        return iter(())
    if query.agent_id is None:
        between = LeadRow.captured.between(first, last)
        return storage.iterate(LeadRow, workspace_id, between, limit=limit, index="by_capture")
    lead_ids = (parent_scoped_ids.id_at(query.agent_id, ulid) for ulid in (first, last))
    partition = parent_scoped_ids.partition(workspace_id, query.agent_id)
    return storage.iterate(LeadRow, partition, LeadRow.lead_id.between(*lead_ids), limit=limit, consistent=False)
