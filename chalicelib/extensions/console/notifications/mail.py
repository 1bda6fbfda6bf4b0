"""Composes an email as plain text and HTML in the person's language and time zone, and sends it with SES."""

import re
from collections.abc import Sequence
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import parseaddr
from typing import NamedTuple
from unicodedata import normalize
from urllib.parse import quote

from botocore.exceptions import ClientError

from chalicelib import storage
from chalicelib.extensions.console.notifications import inbox, mail_settings, unsubscribe_token
from chalicelib.extensions.console.notifications.inbox import WaitingConversation
from chalicelib.extensions.console.notifications.recipients import Recipient
from chalicelib.extensions.console.presentation import rendering
from chalicelib.extensions.console.presentation.template_filters import moment
from chalicelib.storage import Document

# The maximum length of a text in an email, and the number of characters that are read to produce it.
_MAX_TEXT, _MAX_READ = 100, 1_000
_LINKING = re.compile(r"[.:\u3002]+(?=\S)|[/\\@]")
_INBOX = "/convos?inbox=true"
_REFUSALS = ("MessageRejected", "InvalidParameterValue")


class Refused(Exception):
    """SES permanently rejects this email, because its recipient is unverified or is not a valid address."""


class NotSent(Exception):
    """SES is not accepting emails at the moment, but may accept this one later."""


class _Line(NamedTuple):
    """A conversation as it appears in an email."""

    name: str
    preview: str
    agent: str
    changed_at: int
    link: str


def compose(workspace_id: str, recipient: Recipient, waiting: Sequence[WaitingConversation]) -> bytes:
    """Return the email about conversations, which lists the first 20.

    Its headers contain no visitor texts, and only the name of the client.
    """
    records = recipient.client, recipient.organisation
    language = rendering.language_of(*records)
    t = rendering.texts(language, rendering.zone_of(*records))
    lines = _lines(workspace_id, recipient, waiting[: inbox.MAX_LISTED])
    home = f"{mail_settings.console_url()}/{quote(workspace_id)}"
    stop = f"{home}/unsubscribe/{unsubscribe_token.token(workspace_id, recipient.client_id)}"
    others = len(waiting) - len(lines)
    subject = t("mail.one") if len(waiting) == 1 else t("mail.many", count=len(waiting))
    context = {"t": t, "language": language, "subject": subject, "lines": lines, "others": others}
    everything = f"{home}{_INBOX if recipient.page == '/convos' else recipient.page}"
    links = {"stop": stop, "account": f"{home}/account", "everything": everything}
    message = new_message(subject, recipient.client)
    message["List-Unsubscribe-Post"] = "List-Unsubscribe=One-Click"
    more = [*([t("mail.others", count=others)] if others else []), f"{t('mail.more')}: {everything}"]
    message.set_content(_text(t, subject, lines, more, (t("mail.why"), f"{t('unsubscribe')}: {stop}")))
    message.add_alternative(rendering.environment().get_template("mail.html").render(context, **links), subtype="html")
    # `message` would encode links that are longer than a line, and email programs would not recognise them.
    return f"List-Unsubscribe: <{stop}>\r\n".encode() + message.as_bytes()


def new_message(subject: str, client: Document) -> EmailMessage:
    """Return an email to a client, without its content."""
    message = EmailMessage(SMTP)
    message["Subject"] = subject
    name, address = parseaddr(mail_settings.sender())
    message["From"] = Address(plain(name), addr_spec=address)
    message["To"] = Address(plain(client.get("name")), addr_spec=client["email"])
    message["Auto-Submitted"] = "auto-generated"
    return message


def send(message: bytes, address: str) -> None:
    """Send an email at most once. The SDK does not retry if the response is lost. Raise Refused and NotSent."""
    sender = parseaddr(mail_settings.sender())[1]
    try:
        storage.sdk_client("ses", attempts=1).send_raw_email(
            Source=sender, Destinations=[address], RawMessage={"Data": message}
        )
    except ClientError as error:
        # The error message lists unverified addresses. If the sender is among them, no email can be sent.
        is_about_sender = sender in str(error)
        if error.response["Error"]["Code"] in _REFUSALS and not is_about_sender:
            raise Refused from error
        raise NotSent from error


def _lines(workspace_id: str, recipient: Recipient, waiting: Sequence[WaitingConversation]) -> list[_Line]:
    titles = inbox.titles(workspace_id, {conversation.agent_id for conversation in waiting})
    return [
        _Line(
            plain(
                conversation.metadata.get("userName")
                or conversation.metadata.get("userEmail")
                or conversation.conversation_id
            ),
            plain(conversation.metadata.get("lastMessage") or conversation.metadata.get("title")),
            plain(titles[conversation.agent_id]),
            conversation.changed_at,
            _link(workspace_id, recipient, conversation),
        )
        for conversation in waiting
    ]


def _link(workspace_id: str, recipient: Recipient, waiting: WaitingConversation) -> str:
    below = (
        f"/{quote(waiting.agent_id, safe='')}/{quote(waiting.conversation_id, safe='')}"
        if recipient.page == "/convos"
        else ""
    )
    return f"{mail_settings.console_url()}/{quote(workspace_id)}{recipient.page}{below}"


def _text(t: rendering.Texts, subject: str, lines: Sequence[_Line], more: Sequence[str], closing: Sequence[str]) -> str:
    blocks = [
        "\n".join(filter(None, (line.name, line.preview, f"{line.agent} · {moment(line.changed_at, t)}", line.link)))
        for line in lines
    ]
    return "\n\n".join([subject, *blocks, *more, "-- \n" + "\n".join(closing)]) + "\n"


def plain(text: str | None) -> str:
    """Return at most 100 characters of a text on one line, in which email programs find no link.

    Email programs turn text such as `evil.example` into links. Therefore, a space replaces each dot and colon inside a
    word, each slash and each `@`. NFKC normalisation is applied first, because it turns other characters into dots and
    slashes, as browsers do.
    """
    printable = "".join(
        character if character.isprintable() else " " for character in normalize("NFKC", (text or "")[:_MAX_READ])
    )
    line = " ".join(_LINKING.sub(" ", " ".join(printable.split())).split())
    return line if len(line) <= _MAX_TEXT else f"{line[: _MAX_TEXT - 1]}…"
