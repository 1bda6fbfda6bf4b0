"""The deletion of a workspace's rows for the operator's command."""

from chalicelib.extensions.console.notifications import allowance, notices


def delete_all(workspace_id: str) -> dict[str, int]:
    """Delete the rows of mails of a workspace; return the number of deleted records by kind."""
    return {"notice": notices.delete_all(workspace_id) + allowance.delete_all(workspace_id)}
