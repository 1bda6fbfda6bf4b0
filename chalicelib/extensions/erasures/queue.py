"""The erasures queue and its message."""

from typing import NamedTuple

from chalicelib import queues
from chalicelib.extensions.erasures.extension import QUEUE
from chalicelib.queues import messages


class Erase(NamedTuple):
    """The queue message that starts or continues an erasure."""

    workspace_id: str
    erasure_id: str

    def send(self, delay_seconds: int) -> None:
        """Send the message. Raise Unavailable."""
        queues.send(QUEUE, [messages.pack(self)], self.workspace_id, delay_seconds)
