"""Rows that extensions store about deleted records, such as authors. They are committed together with the deletion."""

from collections.abc import Sequence

from chalicelib import extensions
from chalicelib.storage.rows import Row


def stage(workspace_id: str, resource: str, record_id: str) -> None:
    """Stage the rows that extensions store about a record that the current author deletes."""
    for stage_deletion in extensions.hooks("stage_deletion"):
        stage_deletion(workspace_id, resource, record_id)


def rows_of_cascade(
    workspace_id: str, resource: str, record_ids: Sequence[str], milliseconds: int, author: str | None
) -> list[Row]:
    """Return the rows that extensions store about a deleted owner's records. Repeated calls return the same rows."""
    return [
        row
        for cascade_deletions in extensions.hooks("cascade_deletions")
        for row in cascade_deletions(workspace_id, resource, record_ids, milliseconds, author)
    ]
