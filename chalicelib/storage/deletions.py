"""What extensions keep of a deleted record. A deleted item does not name its author, so it is committed beside it."""

from collections.abc import Sequence

from chalicelib import extensions
from chalicelib.storage.rows import Row


def stage(workspace_id: str, resource: str, record_id: str) -> None:
    """Stage what the extensions keep of a record, beside the deletion itself. The current author has deleted it."""
    for stage_deletion in extensions.hooks("deletion"):
        stage_deletion(workspace_id, resource, record_id)


def rows_of_cascade(
    workspace_id: str, resource: str, record_ids: Sequence[str], milliseconds: int, author: str | None
) -> list[Row]:
    """Return what the extensions keep of records that are deleted with another one. A repeat returns the same rows."""
    return [
        row
        for deletions in extensions.hooks("deletions")
        for row in deletions(workspace_id, resource, record_ids, milliseconds, author)
    ]
