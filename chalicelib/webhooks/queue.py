"""Delivery queue messages, each with up to 40 events for one endpoint."""

import json
from collections.abc import Iterable
from typing import NamedTuple

from chalicelib import queues
from chalicelib.queues import stream_batches
from chalicelib.queues.messages import from_members

FAST, SLOW = "deliveries", "deliveries-slow"
DEAD_LETTER = stream_batches.DEAD_LETTER
# The message group for unreadable messages. Their workspace is unknown, and no function receives them.
_UNREADABLE = "unreadable"


class QueuedDelivery(NamedTuple):
    """A delivery on a queue: the event to send, the endpoint that receives it, and the delivery id."""

    workspace_id: str
    webhook_id: str
    event_id: str
    type: str
    delivery_id: str


class DeliveryMessage(NamedTuple):
    """Events of one type to send to one endpoint. `requested_id` identifies a delivery that an API request created."""

    workspace_id: str
    webhook_id: str
    type: str
    event_ids: tuple[str, ...]
    requested_id: str = ""

    @property
    def is_requested(self) -> bool:
        """Return whether an API request created this delivery. Such deliveries ignore the endpoint's settings."""
        return bool(self.requested_id)

    @property
    def deliveries(self) -> list[QueuedDelivery]:
        """Return the message's deliveries. Unless an API request created it, a delivery's id is its event's id."""
        return [
            QueuedDelivery(self.workspace_id, self.webhook_id, event_id, self.type, self.requested_id or event_id)
            for event_id in dict.fromkeys(self.event_ids)
        ]

    def pack(self) -> str:
        """Return the message as text for `parse`.

        The text omits the message kind, because the previous release also reads and sends messages during an upgrade.
        """
        return json.dumps(self)

    @staticmethod
    def parse(text: str) -> "DeliveryMessage":
        """Parse a message's text. Raise TypeError or ValueError if it is invalid."""
        return from_members(DeliveryMessage, json.loads(text))


def send(workspace_id: str, messages: Iterable[DeliveryMessage], queue_name: str) -> None:
    """Send a workspace's messages to a queue. Raise Unavailable if the queue does not accept all of them."""
    queues.send(queue_name, [message.pack() for message in messages], workspace_id)


def send_to_dead_letter(text: str) -> None:
    """Send an unreadable message to the dead-letter queue, for an operator to inspect. Raise Unavailable."""
    queues.send(DEAD_LETTER, [text], _UNREADABLE)
