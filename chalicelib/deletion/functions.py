"""The Lambda entry point that resumes cascading deletions. It imports neither `app.py` nor wire models."""

from chalice.app import Blueprint, SQSEvent

from chalicelib import queues, telemetry
from chalicelib.deletion import cascade

functions = Blueprint(__name__)

_CASCADE_SECONDS = 30.0


@functions.on_sqs_message(queues.name(cascade.CASCADES), 1, "resume_cascade")
def resume_cascade(event: SQSEvent) -> None:
    """Resume a cascade. The queue retries a failed one, and finally moves it to the dead-letter queue."""
    telemetry.begin_invocation(event)
    for record in event:
        cascade.resume(record.body, _CASCADE_SECONDS)
