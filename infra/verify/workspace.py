"""The temporary workspace of a verification. A row marks it, so that a later run can find an abandoned workspace.

The workspace and its mark are created in one transaction, and the mark is deleted after the workspace.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext, suppress

from pynamodb.attributes import UnicodeAttribute

from chalicelib import clock, errors, ids, storage
from chalicelib.workspaces import store as workspaces
from infra.operator import removal

_NAME = "Temporary workspace of `make verify`"
_MARKS = "verify"
# Longer than any verification, because a newer mark may belong to a running verification.
_LONGEST_RUN_SECONDS = 30 * 60
# The workspace's credentials expire soon, even if the workspace is never removed.
_CREDENTIAL_SECONDS = 60 * 60


class MarkRow(storage.Row):
    """The mark of a temporary workspace. All marks share a partition whose key is not a workspace id."""

    class Meta:
        table_name = storage.table("workspaces")

    workspace = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)


def create() -> workspaces.NewWorkspace:
    """Create a temporary workspace."""
    with storage.unit_of_work():
        new = workspaces.create(_NAME, _CREDENTIAL_SECONDS, _CREDENTIAL_SECONDS)
        storage.put(MarkRow(_MARKS, new.workspace_id))
    return new


def list_abandoned() -> Iterator[str]:
    """Yield the ids of workspaces that earlier runs have not removed. This costs one request."""
    for row in storage.iterate(MarkRow, _MARKS):
        if ids.timestamp_of(row.item) < clock.milliseconds() - _LONGEST_RUN_SECONDS * 1000:
            yield row.item


def remove(workspace_id: str) -> int:
    """Remove a temporary workspace and all of its records; return the number of deleted rows. Idempotent.

    Unlike `infra.cams workspace delete`, do not wait for the last requests and webhooks, because the verification has
    already waited for them. Rows that stream functions write later expire.
    """
    total = 0
    with suppress(errors.NotFound):
        status = workspaces.read(workspace_id).status
        workspaces.change_status(workspace_id, (status,), workspaces.SUSPENDED)
        removal.begin(workspace_id)
        total = removal.finish(workspace_id, nullcontext).total()
    storage.delete_many([MarkRow(_MARKS, workspace_id)])
    return total
