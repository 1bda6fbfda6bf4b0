"""Delivery messages: one for each event and endpoint, on the fast queue or on the slow one."""

import json
from collections.abc import Iterable
from typing import NamedTuple

from chalicelib import queues

FAST, SLOW, DEAD_LETTER = "deliveries", "deliveries-slow", "deliveries-dead"


class Message(NamedTuple):
    """Which event to send to which endpoint, and the id of the delivery."""

    workspace_id: str
    webhook_id: str
    event_id: str
    type: str
    delivery_id: str

    @property
    def is_requested(self) -> bool:
        """Whether an API request made this delivery (a test or a redelivery); it ignores the endpoint's settings."""
        return self.delivery_id != self.event_id

    def text(self) -> str:
        """Return the message as the text of a queue message; `from_text` reads it."""
        return json.dumps(self)


def from_text(text: str) -> Message:
    """Read the text of a queue message. Raises TypeError or ValueError if it is malformed."""
    parts = json.loads(text)
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise TypeError("A message must be a list of strings.")
    return Message(*parts)


def send(messages: Iterable[Message], queue_name: str) -> None:
    """Send messages to a queue. Raises Unavailable if the queue does not accept all of them."""
    queues.send(queue_name, [message.text() for message in messages])


def send_to_dead_letter(text: str) -> None:
    """Send an unreadable message to the dead-letter queue, for an operator to inspect. Raises Unavailable."""
    queues.send(DEAD_LETTER, [text])
