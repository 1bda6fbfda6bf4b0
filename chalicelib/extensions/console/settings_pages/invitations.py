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


def with_one_address(sent: Mapping[str, str]) -> dict[str, str]:
    """Return the submitted fields. If they contain one address, perhaps repeated, it has no separators around it."""
    addresses = _addresses(sent)
    return {**sent, "email": "".join(addresses)} if len(addresses) < 2 else dict(sent)


def _addresses(sent: Mapping[str, str]) -> list[str]:
    texts = (text.strip() for text in _BETWEEN.split(sent.get("email", "")))
    return [*{text.casefold(): text for text in texts if text}.values()]


def several(session: Session, sent: Mapping[str, str]) -> list[str]:
    """Return the addresses in the form, ignoring case, or an empty list if it is for one person. Raise Invalid.

    Only people who get an email can be added together, because others need a password.
    """
    addresses = _addresses(sent)
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

    Raise Invalid and Forbidden before anyone is added, such as for the role.
    """
    results: dict[str, tuple[str, str]] = {}
    for address in addresses:
        results[address] = _add(address, create, results)
    outcome = _send(session, [client_id for _, client_id in results.values() if client_id])
    shown = {address: outcome if client_id else result for address, (result, client_id) in results.items()}
    return guard.page(session, "invitations.html", "/settings", org_id=org_id, results=shown)


def _add(address: str, create: _Create, earlier: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    """Return the result for an address, and the id of a person to invite or an empty text."""
    if not recipients.can_receive({"email": address}):
        return INVALID, ""
    try:
        return SENT, str(create(address)["ID"])
    except EmailTaken:
        return TAKEN, ""
    except errors.ApiError as error:
        is_added = any(client_id for _, client_id in earlier.values())
        if isinstance(error, errors.Invalid | errors.Forbidden) and not is_added:
            raise
        return FAILED, ""


def _send(session: Session, client_ids: Iterable[str]) -> str:
    workspace_id = session.workspace_id
    try:
        queue.send(workspace_id, [SendLink(workspace_id, client_id, INVITATION) for client_id in client_ids])
    except errors.Unavailable:
        return UNSENT
    return SENT
