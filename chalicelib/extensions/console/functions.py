"""The Lambda entry point `notify_people`, which processes the queue `notifications`.

A message from the stream follower is turned into one message per client to notify (`queue`), 100 clients at a time, so
that each invocation does a bounded amount of work. This module imports neither `app.py` nor wire models.
"""

import logging

from chalice.app import Blueprint, SQSEvent

from chalicelib import queues, telemetry
from chalicelib.extensions.console.extension import QUEUE
from chalicelib.queues import messages

functions = Blueprint(__name__)

_log = logging.getLogger(__name__)
_MAX_MESSAGES = 10


@functions.on_sqs_message(queues.name(QUEUE), _MAX_MESSAGES, "notify_people")
def notify_people(event: SQSEvent) -> dict[str, list[dict[str, str]]]:
    """Send emails, or select their recipients. Report the failed messages, so that the queue redelivers only these."""
    telemetry.begin_invocation(event)
    records = event.to_dict()["Records"]
    failed = [record["messageId"] for record in records if not _is_done(record["body"])]
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def _is_done(text: str) -> bool:
    from chalicelib.extensions.console import queue  # the API does not need these modules
    from chalicelib.extensions.console.notifications import notifier

    try:
        message = messages.parse(text, queue.KINDS)
        if isinstance(message, queue.FindRecipients):
            notifier.find_recipients(message)
        elif isinstance(message, queue.Notify):
            notifier.notify(message)
        else:
            from chalicelib.extensions.console.notifications import change_mail, link_mail

            if isinstance(message, queue.SendChangeNotice):
                change_mail.send(message)
            elif isinstance(message, queue.SendLink):
                link_mail.send(message)
            else:
                link_mail.send_reset(message)
    except Exception:
        _log.exception("Cannot notify people; the queue will redeliver the message")
        return False
    return True
