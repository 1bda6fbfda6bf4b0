"""The Lambda entry point of erasures. It imports neither `app.py` nor wire models."""

from chalice.app import Blueprint, SQSEvent

from chalicelib import queues, telemetry
from chalicelib.erasures import tasks

functions = Blueprint(__name__)

_SECONDS = 30.0


@functions.on_sqs_message(queues.name(queues.ERASURES), 1, "erase")
def erase(event: SQSEvent) -> None:
    """Do a part of an erasure. The queue retries a failed one, and finally moves it to the dead-letter queue."""
    telemetry.begin_invocation(event)
    for record in event:
        tasks.run(record.body, _SECONDS)
