"""Notifications as in the cloud: the stream, the queue and its delays, and the emails that SES accepts."""

import email
from collections.abc import Sequence
from email.message import EmailMessage
from email.policy import default
from typing import Any, cast

import pytest
from moto.ses.models import ses_backends

from chalicelib import clock, queues, storage
from chalicelib.extensions.console import functions
from chalicelib.extensions.console.extension import QUEUE
from chalicelib.extensions.console.notifications import handoff_notices, mail
from tests.api import Api
from tests.conftest import PassTime
from tests.followers import follow
from tests.webhooks.pipeline import Record, Stream

SENDER, CONSOLE = "CAMS <notifications@cams.test>", "https://cams.test/prod/console"
# The address of the client who has enabled notifications.
BO = "bo@acme.test"
# The queue's visibility timeout. Afterwards, a crashed process's message is received again.
AGAIN_MILLISECONDS = 360_000


class Crash(BaseException):
    """The simulated process crashes here."""


class Mailing:
    """The stream, the queue and the function. `pass_time` is the only clock.

    Messages are sorted by the time they become visible.
    """

    def __init__(self, patch: pytest.MonkeyPatch, pass_time: PassTime) -> None:
        patch.setenv("CAMS_MAIL_SENDER", SENDER)
        patch.setenv("CAMS_CONSOLE_URL", CONSOLE)
        self.stream, self._pass_time = Stream("conversations"), pass_time
        self.queued: list[tuple[int, str]] = []
        self.groups: list[str] = []
        self.failures = 0
        self.sent_at: list[int] = []
        send = queues.send

        def capture(queue: str, texts: Sequence[str], group: str, delay_seconds: int = 0) -> None:
            assert 0 <= delay_seconds <= 900
            if queue == QUEUE:
                self.queued += [(clock.milliseconds() + delay_seconds * 1000, text) for text in texts]
                self.groups += [group] * len(texts)
            else:
                send(queue, texts, group, delay_seconds)

        patch.setattr(queues, "send", capture)
        send_mail = mail.send

        def send_and_note(*arguments: Any) -> None:
            send_mail(*arguments)
            self.sent_at.append(clock.milliseconds())

        patch.setattr(mail, "send", send_and_note)
        ses_backends["123456789012"]["eu-west-1"].reset()
        storage.sdk_client("ses", attempts=1).verify_email_identity(EmailAddress="notifications@cams.test")

    def records(self) -> list[Record]:
        """Return the conversation changes since the last call."""
        return [
            one for one in self.stream.read("conversations") if one["dynamodb"]["Keys"]["item"]["S"] == "conversation"
        ]

    def feed(self, *records: Record) -> None:
        """Run the stream function."""
        follow("conversations", records)

    def run(self, seconds: int) -> None:
        """Advance the clock, and run the function for each message as soon as the message is visible."""
        end = clock.milliseconds() + seconds * 1000
        while due := sorted(one for one in self.queued if one[0] <= end):
            at, text = due[0]
            self.queued.remove(due[0])
            self._pass_time(max(-(-(at - clock.milliseconds()) // 1000), 0))
            try:
                is_done = self.invoke(text) == {"batchItemFailures": []}
            except Crash:
                is_done = False
            if not is_done:
                self.queued.append((clock.milliseconds() + AGAIN_MILLISECONDS, text))
                self.failures += 1
        self._pass_time((end - clock.milliseconds()) // 1000)

    def invoke(self, text: str) -> Any:
        """Run the function for one message."""
        return functions.notify_people({"Records": [{"messageId": "one", "body": text}]}, None)

    def happen(self, seconds: int = handoff_notices.DELAY_SECONDS) -> None:
        """Run the stream function once, and process the queue for some seconds."""
        self.feed(*self.records())
        self.run(seconds)

    @property
    def mails(self) -> list[EmailMessage]:
        """The emails that SES has accepted, oldest first."""
        return [email.message_from_string(one, policy=default) for one in self.raw_mails]

    @property
    def raw_mails(self) -> list[str]:
        """The emails as SES receives them."""
        return [one.raw_data for one in ses_backends["123456789012"]["eu-west-1"].sent_messages]

    @property
    def recipients(self) -> list[str]:
        """Each email's recipient. moto also lists the recipients in the headers."""
        return [one.destinations[0] for one in ses_backends["123456789012"]["eu-west-1"].sent_messages]


def fail_next_mail(patch: pytest.MonkeyPatch) -> None:
    """Let SES not accept the next email."""
    send = mail.send

    def fail(*_: object) -> None:
        patch.setattr(mail, "send", send)
        raise mail.NotSent

    patch.setattr(mail, "send", fail)


def text_of(received: EmailMessage, kind: str = "plain") -> str:
    """Return an email's plain text or HTML."""
    part = received.get_body((kind,))
    assert part is not None
    return cast(str, part.get_content())


def request_person(api: Api, name: str, agent: str = "support", **metadata: Any) -> None:
    """Request a person as a visitor."""
    body = {"metadata": {"state": "requested_chat", **metadata}}
    assert api.post(f"/agents/{agent}/interact/{name}/state", body).status == 200


def take_over(api: Api, name: str, agent: str = "support") -> None:
    """Take over a conversation as a person would."""
    body = {"metadata": {"state": "human-chatting"}}
    assert api.post(f"/agents/{agent}/interact/{name}/state", body).status == 200


def settings(through: str | None = "email", condition: str | None = "all") -> dict[str, Any]:
    """Return the client member that contains the notification settings."""
    return {"notificationsSettings": {"notifyThrough": through, "notifyIf": condition}}


def notice_rows() -> list[dict[str, Any]]:
    """Return the stored notification rows."""
    found = storage.sdk_client("dynamodb").scan(TableName="cams-workspaces")["Items"]
    return [one for one in found if "listed_at" in one]
