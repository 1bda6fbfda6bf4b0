"""Queue messages of deliveries: up to 40 events to one endpoint."""

import json
from collections.abc import Iterable
from typing import NamedTuple

from chalicelib import queues
from chalicelib.queues import stream_batches
from chalicelib.queues.messages import from_members

FAST, SLOW = "deliveries", "deliveries-slow"
DEAD_LETTER = stream_batches.DEAD_LETTER
# The message group of unreadable texts: their workspace is unknown, and no function receives them.
_UNREADABLE = "unreadable"


class QueuedDelivery(NamedTuple):
    """A delivery on a queue: the event to send, the endpoint that receives it, and the id of the delivery."""

    workspace_id: str
    webhook_id: str
    event_id: str
    type: str
    delivery_id: str


class DeliveryMessage(NamedTuple):
    """Events of one type to send to one endpoint. `requested_id` is the id of a delivery that an API request made."""

    workspace_id: str
    webhook_id: str
    type: str
    event_ids: tuple[str, ...]
    requested_id: str = ""

    @property
    def is_requested(self) -> bool:
        """Return whether an API request made this delivery, which ignores the endpoint's settings."""
        return bool(self.requested_id)

    @property
    def deliveries(self) -> list[QueuedDelivery]:
        """Return the deliveries of the message. A delivery has the id of its event, unless an API request made it."""
        return [
            QueuedDelivery(self.workspace_id, self.webhook_id, event_id, self.type, self.requested_id or event_id)
            for event_id in dict.fromkeys(self.event_ids)
        ]

    def pack(self) -> str:
        """Return the text of the message; `parse` reads it.

        The text omits the kind, because during an upgrade the last release reads and sends messages, too.
        """
        return json.dumps(self)

    @staticmethod
    def parse(text: str) -> "DeliveryMessage":
        """Return the message in a text. Raise TypeError or ValueError if it is invalid."""
        return from_members(DeliveryMessage, json.loads(text))


def send(workspace_id: str, messages: Iterable[DeliveryMessage], queue_name: str) -> None:
    """Send messages of a workspace to a queue. Raise Unavailable if the queue does not accept all of them."""
    queues.send(queue_name, [message.pack() for message in messages], workspace_id)


def send_to_dead_letter(text: str) -> None:
    """Send an unreadable message to the dead-letter queue, for an operator to inspect. Raise Unavailable."""
    queues.send(DEAD_LETTER, [text], _UNREADABLE)
