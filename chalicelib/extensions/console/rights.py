"""The changes that an administrator may make to a person, and a person to an agent. An operator may make all of them.

To change a person, an administrator needs every page and right that the person has. Otherwise an administrator with few
pages could set a superior's password and sign in as that person.
"""

from chalicelib import errors, storage
from chalicelib.clients import store as clients
from chalicelib.extensions.console import guard, settings
from chalicelib.extensions.console.sessions import Session
from chalicelib.storage import Document

_PAGE = "/settings"
# The limits of an agent, and how long its conversations are kept.
_OF_ADMINISTRATORS = ("limits", "messagesLimit", "retention")
# The pages of a new person.
NEW: Document = {"canAccess": []}


def covers(session: Session, client: Document) -> bool:
    """Return whether the person of the session may open every page of a client.

    A client without `canAccess` may open all pages, including those of later releases.
    """
    allowed = client.get("canAccess")
    if allowed is None:
        return session.client.get("canAccess") is None
    return all(session.may_open(page) for page in allowed)


def require(session: Session, org_id: str, before: Document, after: Document) -> None:
    """Stage the condition that the person of the session may change a client of the organisation, as it is stored.

    `before` is the stored client, whose version the change itself requires. The rights of the session are read again:
    the session may be cached. The commit requires that they have not changed. One request, none for an operator or a
    person's own record, whose rights a form does not change. Raise Forbidden, Invalid and NotFound.
    """
    if session.client_id in (None, before.get("ID")):
        return
    row = clients.read(session.workspace_id, session.client_id)
    clients.require_unchanged(row)
    current = session._replace(client=row.open())
    settings.require_organisation(current, org_id)
    if not (current.may_open(_PAGE) and covers(current, before)):
        raise guard.form_error(session, "canAccess.rights", errors.Forbidden)
    if not covers(current, after):
        raise guard.form_error(session, "canAccess")


def require_limits(session: Session, before: Document, after: Document) -> None:
    """Raise Forbidden if a person who is not an administrator changes a limit or the retention of an agent."""
    stored, changed = ({name: agent.get(name) for name in _OF_ADMINISTRATORS} for agent in (before, after))
    if not session.is_admin and not storage.json_equal(stored, changed):
        raise guard.form_error(session, "limits", errors.Forbidden)
