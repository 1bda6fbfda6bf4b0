"""The people to whom a person can assign conversations."""

from collections.abc import Iterable
from typing import Any

from chalicelib.extensions.console import calls
from chalicelib.extensions.console.sessions import Session
from chalicelib.extensions.console.template_filters import display_name, truncate
from chalicelib.storage import Document

MAX_NAME = 60  # the maximum length of a name in the list of up to 500 people
# The maximum number of client pages. A page contains up to 100 clients, or examines 500 clients from all organisations.
_MAX_REQUESTS = 5


def list_colleagues(session: Session) -> tuple[list[tuple[str, str]], bool]:
    """Return the id and name of each possible assignee, sorted by name, and whether there are more.

    A client without an organisation has no colleagues. Without `orgId`, the operation would list all people.
    """
    org_id = session.client.get("orgId")
    if session.client_id is not None and not org_id:
        return [], False
    query = {"limit": 100, "orgId": org_id}
    colleagues: list[Any] = []
    following = None
    for _ in range(_MAX_REQUESTS):
        page = calls.get("/v3/clients", {**query, "cursor": following})
        colleagues += page["data"]
        following = page.get("nextCursor")
        if not following:
            break
    named = [
        (colleague["ID"], truncate(display_name(colleague, "name", "email", "ID"), MAX_NAME))
        for colleague in colleagues
        if not colleague.get("disabled")
    ]
    return sorted(named, key=lambda pair: pair[1].casefold()), bool(following)


def list_assignees(session: Session, conversations: Iterable[Document]) -> list[tuple[str, str]]:
    """Return the ids and names of the person's colleagues, or an empty list if no conversation is assigned."""
    is_assigned = any(conversation.get("chatAssignedTo") for conversation in conversations)
    return list_colleagues(session)[0] if is_assigned else []
