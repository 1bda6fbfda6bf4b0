"""The reports queue and its message."""

from collections.abc import Iterable
from typing import NamedTuple

from chalicelib import queues
from chalicelib.extensions.reports.extension import QUEUE
from chalicelib.queues import messages

# The maximum delay of an SQS queue. One count serves all requests within this time, so counting costs little compared
# with the changes.
_DELAY_SECONDS = 900


class RecountHour(NamedTuple):
    """The queue message that requests a recount of an agent's hour. Its members are the arguments of `recount`."""

    agent: str
    hour: int
    requested_at: int


def send(workspace_id: str, requests: Iterable[RecountHour]) -> None:
    """Send a workspace's messages with a delay of 15 minutes. Raise Unavailable."""
    queues.send(QUEUE, [messages.pack(request) for request in requests], workspace_id, _DELAY_SECONDS)
