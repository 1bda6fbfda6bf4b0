"""Emails that contain a one-time link, such as an invitation. The link is created when its email is sent."""

import logging
from urllib.parse import quote

from chalicelib import storage
from chalicelib.clients import store as clients
from chalicelib.clients.store import ClientRow
from chalicelib.extensions.console.access import session_store
from chalicelib.extensions.console.account_pages import one_time_links
from chalicelib.extensions.console.notifications import allowance, mail, mail_settings, notifier, recipients
from chalicelib.extensions.console.presentation import rendering
from chalicelib.extensions.console.queue import SendLink, SendResetLink
from chalicelib.storage import Document

_log = logging.getLogger(__name__)


def send(message: SendLink) -> None:
    """Send a client a new link, at most one per purpose and five-minute period. Raise database, KMS and SES errors.

    Do nothing if the client or workspace is gone. The queue redelivers a failed message after that period.
    """
    workspace_id, client_id, purpose = message
    row = clients.find(workspace_id, client_id)
    if row is not None:
        _send(row, row.open(), purpose)


def send_reset(message: SendResetLink) -> None:
    """Send the link for a forgotten password as `send` does.

    Do nothing if the email belongs to no client, or to a client without a password.
    """
    workspace_id, claim = message
    email = storage.find(clients.EmailRow, clients.email_key(workspace_id, "").partition, claim)
    row = clients.find_owner(workspace_id, email)
    client = row.open() if row else {}
    if row is None or not client.get("dashboardPassword"):
        return
    _send(row, client, one_time_links.RESET)


def _send(row: ClientRow, client: Document, purpose: str) -> None:
    workspace_id = row.workspace
    if not recipients.can_receive(client) or not notifier.is_active(workspace_id):
        return
    try:
        session_store.count_link(workspace_id, row.client_id, purpose)
    except session_store.TooManyAttempts:
        return
    if not allowance.take(workspace_id, purpose):
        _log.warning("A workspace has used up its daily allowance of links, so a link was not sent: %s", workspace_id)
        return
    with storage.unit_of_work():
        token = one_time_links.stage(row, purpose)
    try:
        mail.send(_compose(workspace_id, client, purpose, token), client["email"])
    except mail.Refused:
        _log.exception("SES rejected an email with a link; it will not be sent again")
    except mail.NotSent:
        allowance.give_back(workspace_id, purpose)
        raise


def _compose(workspace_id: str, client: Document, purpose: str, token: str) -> bytes:
    organisation = session_store.organisation_of(workspace_id, client)
    language = rendering.language_of(client, organisation)
    t = rendering.texts(language)
    place = mail.plain(organisation.get("name")) or t("console")
    subject, why = (t(f"link.{purpose}.{part}", place=place) for part in ("subject", "why"))
    hint, ignore = t(f"link.{purpose}.hint"), t("link.ignore")
    link = f"{mail_settings.console_url()}/{quote(workspace_id)}/password/{token}?for={purpose}"
    message = mail.new_message(subject, client)
    message.set_content("\n\n".join([subject, why, link, hint, f"-- \n{ignore}"]) + "\n")
    context = {"language": language, "subject": subject, "why": why, "link": link, "hint": hint}
    html = (
        rendering.environment().get_template("link_mail.html").render(context, ignore=ignore, action=t("set_password"))
    )
    message.add_alternative(html, subtype="html")
    return message.as_bytes()
