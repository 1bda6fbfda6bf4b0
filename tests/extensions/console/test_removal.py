"""Deleting a workspace deletes the rows of its emails and links."""

from chalicelib.extensions.console import removal
from chalicelib.workspaces.store import NewWorkspace
from tests.extensions.console.support import add_rows


def test_a_deletion_counts_the_rows_of_the_workspace(workspace: NewWorkspace, other_workspace: NewWorkspace) -> None:
    for made in (workspace, other_workspace):
        add_rows(made.workspace_id)
    assert [removal.delete_all(workspace.workspace_id) for _ in range(2)] == [
        {"notice": 2, "link": 1},
        {"notice": 0, "link": 0},
    ]
    assert removal.delete_all(other_workspace.workspace_id) == {"notice": 2, "link": 1}
