"""Deliveries on their way: one message for each event and endpoint, in two lanes."""

import json
from collections.abc import Iterable
from typing import NamedTuple

from chalicelib import queues

FAST, SLOW, DEAD = "deliveries", "deliveries-slow", "deliveries-dead"


class Message(NamedTuple):
    """What the deliver function is told: which event goes to which endpoint, as which delivery."""

    workspace_id: str
    webhook_id: str
    event_id: str
    type: str
    delivery_id: str

    @property
    def is_asked_for(self) -> bool:
        """Whether somebody wants exactly this delivery, a test or a repetition, whatever the endpoint is set to."""
        return self.delivery_id != self.event_id

    def text(self) -> str:
        """The message as a queue carries it; `from_text` reads it."""
        return json.dumps(self)


def from_text(text: str) -> Message:
    """A message of a queue. Raises TypeError or ValueError for anything else."""
    parts = json.loads(text)
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        raise TypeError("A message is a list of texts.")
    return Message(*parts)


def send(messages: Iterable[Message], lane: str) -> None:
    """Put messages on a lane. Raises Unavailable when it did not take all of them."""
    queues.send(lane, [message.text() for message in messages])


def send_to_dead_letter(text: str) -> None:
    """Put what nobody can read where an operator finds it."""
    queues.send(DEAD, [text])
