"""The Lambda entry point `erase`, which processes the queue `erasures`.

This module imports neither `app.py` nor wire models.
"""

from chalice.app import Blueprint, SQSEvent

from chalicelib import queues, telemetry
from chalicelib.extensions.erasures.extension import QUEUE
from chalicelib.queues import messages

functions = Blueprint(__name__)

_SECONDS = 30.0


@functions.on_sqs_message(queues.name(QUEUE), 1, "erase")
def erase(event: SQSEvent) -> None:
    """Run part of an erasure. The queue redelivers a failed message, and finally moves it to the dead-letter queue."""
    from chalicelib.extensions.erasures import search  # the API does not need this module
    from chalicelib.extensions.erasures.queue import Erase

    telemetry.begin_invocation(event)
    for record in event:
        search.resume(messages.parse(record.body, [Erase]), _SECONDS)
