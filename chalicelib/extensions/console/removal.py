"""Deletes a workspace's console rows, for the operator's command."""

from collections import Counter

from chalicelib.extensions.console.account_pages import one_time_links
from chalicelib.extensions.console.notifications import allowance, notices


def delete_all(workspace_id: str) -> Counter[str]:
    """Delete a workspace's email rows and links, and return how many were deleted.

    Sessions are deleted with the credentials.
    """
    return Counter(
        notice=notices.delete_all(workspace_id) + allowance.delete_all(workspace_id),
        link=one_time_links.delete_all(workspace_id),
    )
