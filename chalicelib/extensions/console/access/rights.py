"""Checks which changes an administrator may make to a person, and a person to an agent.

An operator may make any change. To change a person, an administrator needs access to every page that the person may
open. Otherwise, an administrator with few pages could set another administrator's password and sign in as that person.
"""

from collections.abc import Callable
from typing import TypeVar

from chalicelib import errors, storage
from chalicelib.clients import store as clients
from chalicelib.extensions.console.access import guard, sessions
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.http import auth
from chalicelib.storage import Document

Result = TypeVar("Result")
_PAGE = "/settings"
# The agent's limits, and how long its conversations are kept.
_OF_ADMINISTRATORS = ("limits", "messagesLimit", "retention")
# The pages that a new person may open.
NEW: Document = {"canAccess": []}


def require_operator(session: Session) -> None:
    """Raise Forbidden if the person is not an operator."""
    if session.client_id is not None:
        raise errors.Forbidden("Only operators can open this page: sign in with the workspace key.")


def require_organisation(session: Session, org_id: str) -> None:
    """Raise Forbidden if the person is not an administrator, and NotFound for another organisation."""
    if not session.is_admin:
        raise errors.Forbidden("Only the organisation's administrators can open this page.")
    if session.client_id is not None and session.client.get("orgId") != org_id:
        raise errors.NotFound.of("organisation")


def with_secrets(session: Session, action: Callable[[], Result]) -> Result:
    """Run an action as the operator whose workspace key began the session, because its response contains a secret."""
    require_operator(session)
    with auth.acting_as(session.caller()._replace(scopes=None)):
        return action()


def covers(session: Session, client: Document) -> bool:
    """Return whether the session's person may open every page that a client may open.

    A client without `canAccess` may open all pages, including pages in future releases.
    """
    allowed = client.get("canAccess")
    if allowed is None:
        return session.client.get("canAccess") is None
    return all(session.may_open(page) for page in allowed)


def require_valid(session: Session, row: clients.ClientRow, document: Document) -> None:
    """Raise Forbidden if the session has ended since it was cached. `document` is the person's stored record, `row`."""
    if not sessions.is_valid_for(session, row, document):
        raise errors.Forbidden("Your session has ended; sign in again.")


def require(session: Session, org_id: str, before: Document, after: Document) -> None:
    """Check that the session's person may change a client, and stage the condition that they still may.

    `before` is the stored client; the change itself requires that version. The person's record is read again, because
    the session may be cached, and may have ended since. This costs one request, or none for an operator. Raise
    Forbidden, Invalid and NotFound.
    """
    if session.client_id is None:
        return
    row = clients.read(session.workspace_id, session.client_id)
    document = row.open()
    require_valid(session, row, document)
    # The commit does not write the person's own record, so it needs a condition on the version that was checked.
    storage.require(clients.key(row.workspace, row.client_id), clients.ClientRow.version_tag == row.version_tag)
    current = session._replace(client=document)
    require_organisation(current, org_id)
    if not (current.may_open(_PAGE) and covers(current, before)):
        raise guard.form_error(session, "canAccess.rights", errors.Forbidden)
    if not covers(current, after):
        raise guard.form_error(session, "canAccess")


def require_limits(session: Session, before: Document, after: Document) -> None:
    """Raise Forbidden if a person who is not an administrator changes an agent's limits or retention."""
    stored, changed = ({name: agent.get(name) for name in _OF_ADMINISTRATORS} for agent in (before, after))
    if not session.is_admin and not storage.json_equal(stored, changed):
        raise guard.form_error(session, "limits", errors.Forbidden)
