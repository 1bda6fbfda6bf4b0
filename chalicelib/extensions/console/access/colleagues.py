"""The people to whom a person can assign conversations."""

from collections.abc import Iterable
from typing import NamedTuple

from chalicelib.extensions.console.access import calls
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.presentation.template_filters import display_name, truncate
from chalicelib.storage import Document

MAX_NAME = 60  # the maximum length of a name in the list of up to 500 people
MAX_IN_MENU = 200  # the maximum number of people in a conversation's menu, which each update after a transfer contains
# The maximum number of client pages. A page contains up to 100 clients, or examines 500 clients from all organisations.
_MAX_REQUESTS = 5


class Colleagues(NamedTuple):
    """The id and name of each possible assignee, sorted by name, and whether there are more."""

    people: list[tuple[str, str]]
    has_more: bool

    def values(self) -> Document:
        """Return the template variables for a menu of people."""
        return {
            "colleagues": self.people,
            "people_in_menu": self.people[:MAX_IN_MENU],
            "has_more_colleagues": self.has_more,
        }


def list_colleagues(session: Session) -> Colleagues:
    """Return the people to whom the session's person can assign conversations."""
    colleagues, has_more = _list_clients(session)
    enabled = [colleague for colleague in colleagues if not colleague.get("disabled")]
    return Colleagues(sorted(map(_named, enabled), key=lambda pair: pair[1].casefold()), has_more)


def names(session: Session) -> dict[str, str]:
    """Return the names of the person, and of colleagues, by id. People who are disabled have one, too."""
    own = [(session.client_id, session.name)] if session.client_id else []
    return dict([*own, *map(_named, _list_clients(session)[0])])


def _named(client: Document) -> tuple[str, str]:
    return client["ID"], truncate(display_name(client, "name", "email", "ID"), MAX_NAME)


def _list_clients(session: Session) -> tuple[list[Document], bool]:
    """Return the clients of the session's organisation, or all for operators, and whether there are more.

    A client without an organisation has no colleagues. Without `orgId`, the operation would list all people.
    """
    org_id = session.client.get("orgId")
    if session.client_id is not None and not org_id:
        return [], False
    query = {"limit": 100, "orgId": org_id}
    colleagues: list[Document] = []
    following = None
    for _ in range(_MAX_REQUESTS):
        page = calls.get("/v3/clients", {**query, "cursor": following})
        colleagues += page["data"]
        following = page.get("nextCursor")
        if not following:
            break
    return colleagues, bool(following)


def list_assignees(session: Session, conversations: Iterable[Document]) -> list[tuple[str, str]]:
    """Return the ids and names of the person's colleagues, or an empty list if no conversation is assigned."""
    is_assigned = any(conversation.get("chatAssignedTo") for conversation in conversations)
    return list_colleagues(session).people if is_assigned else []
