"""Invites several people with one form, with a result for each address."""

import re
from collections.abc import Callable, Iterable, Mapping

from chalice.app import Response

from chalicelib import errors
from chalicelib.clients.store import EmailTaken
from chalicelib.extensions.console import queue
from chalicelib.extensions.console.access import guard
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.account_pages.one_time_links import INVITATION
from chalicelib.extensions.console.notifications import mail_settings, recipients
from chalicelib.extensions.console.queue import SendLink
from chalicelib.storage import Document

MOST = 20
SENT, TAKEN, INVALID, FAILED, UNSENT = "sent", "taken", "invalid", "failed", "unsent"
"""The results: invited, has an account, is no address, was not added, or was added without an email."""
_BETWEEN = re.compile("[,;\n]")
_OF_ONE = ("name", "dashboardPassword")  # the fields that are for one person

_Create = Callable[[str], Document]


def with_one_line(sent: Mapping[str, str]) -> dict[str, str]:
    """Return the submitted fields without the line breaks around the address."""
    return {**sent, "email": sent["email"].strip()} if "email" in sent else dict(sent)


def several(session: Session, sent: Mapping[str, str]) -> list[str]:
    """Return the addresses in the form, ignoring case, or an empty list if it is for one person. Raise Invalid.

    Only people who get an email can be added together, because others need a password.
    """
    texts = (text.strip() for text in _BETWEEN.split(sent.get("email", "")))
    addresses = [*{text.casefold(): text for text in texts if text}.values()]
    if len(addresses) < 2 or not mail_settings.are_complete():
        return []
    if len(addresses) > MOST:
        raise guard.form_error(session, "email.most", number=MOST)
    for field in _OF_ONE:
        if sent.get(field, "").strip():
            raise guard.form_error(session, f"{field}.several")
    return addresses


def page(session: Session, org_id: str, addresses: Iterable[str], create: _Create) -> Response:
    """Add a person for each address with `create`, send the invitations, and show the results.

    Raise Invalid and Forbidden for what concerns every address, such as the role.
    """
    results = {address: _add(address, create) for address in addresses}
    outcome = _send(session, [client_id for _, client_id in results.values() if client_id])
    shown = {address: outcome if client_id else result for address, (result, client_id) in results.items()}
    return guard.page(session, "invitations.html", "/settings", org_id=org_id, results=shown)


def _add(address: str, create: _Create) -> tuple[str, str]:
    """Return the result for an address, and the id of a person to invite or an empty text."""
    if not recipients.can_receive({"email": address}):
        return INVALID, ""
    try:
        return SENT, str(create(address)["ID"])
    except EmailTaken:
        return TAKEN, ""
    except (errors.Invalid, errors.Forbidden):
        raise
    except errors.ApiError:
        return FAILED, ""


def _send(session: Session, client_ids: Iterable[str]) -> str:
    workspace_id = session.workspace_id
    try:
        queue.send(workspace_id, [SendLink(workspace_id, client_id, INVITATION) for client_id in client_ids])
    except errors.Unavailable:
        return UNSENT
    return SENT
