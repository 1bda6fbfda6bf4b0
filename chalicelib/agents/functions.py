"""The event function of agents: it sweeps what a deleted one has left. Imports no wire model, and not `app.py`."""

from chalice.app import Blueprint, SQSEvent

from chalicelib import queues, telemetry
from chalicelib.agents import deletion

functions = Blueprint(__name__)

_SWEEP_SECONDS = 30.0


@functions.on_sqs_message(queues.name(deletion.SWEEPS), 1, "sweep_agents")
def sweep_agents(event: SQSEvent) -> None:
    """Go on with a sweep. One that fails comes again, and in the end to the dead letters."""
    telemetry.of_function(event)
    for record in event:
        deletion.go_on(record.body, _SWEEP_SECONDS)
