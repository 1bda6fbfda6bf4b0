"""Requests an email to a person whose email or password has changed, at the address before the change."""

import logging
from base64 import b64encode

from chalicelib import clock, errors
from chalicelib.extensions.console import queue
from chalicelib.extensions.console.notifications import mail_settings
from chalicelib.storage import Document, encryption

PURPOSE = "former address"
_MEMBERS = ("email", "dashboardPassword")
BOTH = "both"
"""The `member` of a notice about a new email and a new password."""
_log = logging.getLogger(__name__)


def send(workspace_id: str, client_id: str, before: Document, change: Document) -> None:
    """Request an email if a saved change contains another email or password than the client had before.

    The queue contains the address only sealed. The change has been saved, so Unavailable is logged and not raised.
    """
    changed = [member for member in _MEMBERS if member in change and change[member] != before.get(member)]
    address = before.get("email")
    if not (changed and address and mail_settings.are_complete()):
        return
    member = changed[0] if len(changed) == 1 else BOTH
    try:
        sealed = b64encode(encryption.seal(workspace_id, PURPOSE, address.encode())).decode()
        queue.send(workspace_id, [queue.SendChangeNotice(workspace_id, client_id, member, clock.seconds(), sealed)])
    except errors.Unavailable:
        _log.exception("Cannot notify a person of a new email or password")
