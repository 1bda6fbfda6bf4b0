"""Deletes a workspace's history rows, for the operator's command."""

from collections import Counter
from collections.abc import Iterator
from itertools import islice

from chalicelib import storage
from chalicelib.extensions.history import store
from chalicelib.extensions.history.rows import HistoryRow
from chalicelib.webhooks import ledger

_BATCH = 100
_WEBHOOKS = "webhooks/"


def delete_all(workspace_id: str) -> Counter[str]:
    """Delete a workspace's history, and return the number of deleted records by kind.

    Only the history contains the ids of deleted webhook endpoints, which are needed to find their deliveries.
    """
    deleted: Counter[str] = Counter()
    resources = {row.resource for rows in _pages(workspace_id) for row in rows}
    for webhook in sorted(resource for resource in resources if resource.startswith(_WEBHOOKS)):
        deliveries = ledger.list_all(workspace_id, webhook.removeprefix(_WEBHOOKS))
        while batch := [*islice(deliveries, _BATCH)]:
            storage.delete_many(batch)
            deleted["delivery"] += len(batch)
    for rows in _pages(workspace_id):
        store.delete(rows)
        deleted["change"] += len(rows)
    return deleted


def _pages(workspace_id: str) -> Iterator[list[HistoryRow]]:
    after = None
    while rows := store.list_page(workspace_id, after, _BATCH):
        yield rows
        after = rows[-1].change
