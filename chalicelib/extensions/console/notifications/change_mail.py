"""Emails to a person whose email or password has changed, at the address before the change. They contain no secret."""

import logging
from base64 import b64decode
from urllib.parse import quote

from chalicelib.clients import store as clients
from chalicelib.extensions.console.access import session_store
from chalicelib.extensions.console.account_pages import change_notices
from chalicelib.extensions.console.notifications import allowance, mail, mail_settings, notifier, recipients
from chalicelib.extensions.console.presentation import rendering
from chalicelib.extensions.console.presentation.template_filters import moment
from chalicelib.extensions.console.queue import SendChangeNotice
from chalicelib.storage import Document, encryption

_EMAIL, _PASSWORD = "email", "dashboardPassword"
_log = logging.getLogger(__name__)


def send(message: SendChangeNotice) -> None:
    """Send an email about a change. Raise database, KMS and SES errors.

    Do nothing if the client is gone or disabled, or if the workspace is suspended or has used up the day's allowance.
    """
    workspace_id = message.workspace_id
    row = clients.find(workspace_id, message.client_id)
    if row is None:
        return
    client = {**row.open(), _EMAIL: _address(message)}
    if not (recipients.can_receive(client) and notifier.is_active(workspace_id)):
        return
    if not allowance.take(workspace_id, allowance.CHANGES):
        _log.warning("A workspace has used up its daily allowance of emails about changes: %s", workspace_id)
        return
    try:
        mail.send(_compose(message, client), client[_EMAIL])
    except mail.Refused:
        _log.exception("SES rejected an email about a change; it will not be sent again")
    except mail.NotSent:
        allowance.give_back(workspace_id, allowance.CHANGES)
        raise


def _address(message: SendChangeNotice) -> str:
    return encryption.unseal(message.workspace_id, change_notices.PURPOSE, b64decode(message.address)).decode()


def _compose(message: SendChangeNotice, client: Document) -> bytes:
    records = client, session_store.organisation_of(message.workspace_id, client)
    language = rendering.language_of(*records)
    t = rendering.texts(language, rendering.zone_of(*records))
    place, name = mail.plain(records[1].get("name")) or t("console"), f"change.{message.member}"
    subject = t(f"{name}.subject", place=place)
    # The old address cannot request a new password.
    has_link = message.member == _PASSWORD
    why = t(f"{name}.why", time=moment(message.changed_at, t))
    hint = t(f"change.{_PASSWORD if has_link else _EMAIL}.hint")
    link = f"{mail_settings.console_url()}/{quote(message.workspace_id)}/forgot-password" if has_link else ""
    letter = mail.new_message(subject, client)
    letter.set_content("\n\n".join(filter(None, [subject, why, hint, link])) + "\n")
    context = {"language": language, "subject": subject, "why": why, "link": link, "action": t("forgot_password")}
    html = rendering.environment().get_template("link_mail.html").render(context, hint=hint, ignore="")
    letter.add_alternative(html, subtype="html")
    return letter.as_bytes()
