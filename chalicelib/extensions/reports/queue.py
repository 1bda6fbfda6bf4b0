"""The queue of the reports, and its message."""

from collections.abc import Iterable
from typing import NamedTuple

from chalicelib import queues
from chalicelib.extensions.reports.extension import QUEUE
from chalicelib.queues import messages

# The longest delay of a queue. One count serves all requests of this time, so it costs little compared with the
# changes.
_DELAY_SECONDS = 900


class RecountHour(NamedTuple):
    """The queue message that requests a recount of one of an agent's hours: the arguments of `counts.recount`."""

    agent: str
    hour: int
    requested_at: int


def send(workspace_id: str, requests: Iterable[RecountHour]) -> None:
    """Send messages of a workspace, delayed by 15 minutes. Raise Unavailable."""
    queues.send(QUEUE, [messages.pack(request) for request in requests], workspace_id, _DELAY_SECONDS)
