"""The people to whom a person can assign conversations."""

from typing import Any

from chalicelib.extensions.console import calls
from chalicelib.extensions.console.sessions import Session
from chalicelib.extensions.console.template_filters import display_name, truncate

MAX_NAME = 60  # the maximum length of a name in the list of up to 500 people
# The maximum number of client pages. A page contains up to 100 clients, or examines 500 clients from all organisations.
_MAX_REQUESTS = 5


def list_colleagues(session: Session) -> tuple[list[tuple[str, str]], bool]:
    """Return the id and name of each possible assignee, sorted by name, and whether there are more."""
    query = {"limit": 100, **({} if session.client_id is None else {"orgId": session.client.get("orgId")})}
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
