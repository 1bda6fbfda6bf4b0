"""The event function of agents: it sweeps what a deleted one has left. Imports no wire model, and not `app.py`."""

from chalice.app import Blueprint, SQSEvent

from chalicelib import queues, telemetry
from chalicelib.deletion import cascade

functions = Blueprint(__name__)

_CASCADE_SECONDS = 30.0


@functions.on_sqs_message(queues.name(cascade.CASCADES), 1, "resume_cascade")
def resume_cascade(event: SQSEvent) -> None:
    """Go on with a sweep. One that fails comes again, and in the end to the dead letters."""
    telemetry.of_function(event)
    for record in event:
        cascade.resume(record.body, _CASCADE_SECONDS)
