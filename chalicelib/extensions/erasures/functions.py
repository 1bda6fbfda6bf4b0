"""The Lambda entry point `erase`: it reads the queue `erasures`.

It imports neither `app.py` nor wire models.
"""

from chalice.app import Blueprint, SQSEvent

from chalicelib import queues, telemetry
from chalicelib.extensions.erasures.extension import QUEUE
from chalicelib.queues import messages

functions = Blueprint(__name__)

_SECONDS = 30.0


@functions.on_sqs_message(queues.name(QUEUE), 1, "erase")
def erase(event: SQSEvent) -> None:
    """Run a part of an erasure. The queue repeats a failed message, and finally moves it to the dead-letter queue."""
    from chalicelib.extensions.erasures import search  # not needed by the API
    from chalicelib.extensions.erasures.queue import Erase

    telemetry.begin_invocation(event)
    for record in event:
        search.resume(messages.parse(record.body, [Erase]), _SECONDS)
