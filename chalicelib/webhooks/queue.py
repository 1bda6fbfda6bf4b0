"""Queue messages: deliveries of up to 40 events to one endpoint, and continuations of a fan-out."""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from chalicelib import queues
from chalicelib.queues import stream_batches

FAST, SLOW, CONTINUATIONS = "deliveries", "deliveries-slow", "fan-out"
DEAD_LETTER = stream_batches.DEAD_LETTER
# The message group of what cannot be read: its workspace is unknown, and no function waits for it.
_UNREADABLE = "unreadable"


class Delivery(NamedTuple):
    """Which event to send to which endpoint, and the id of the delivery."""

    workspace_id: str
    webhook_id: str
    event_id: str
    type: str
    delivery_id: str


class Message(NamedTuple):
    """Events of one type to send to one endpoint. `requested_id` is the id of a delivery that an API request made."""

    workspace_id: str
    webhook_id: str
    type: str
    event_ids: tuple[str, ...]
    requested_id: str = ""

    @property
    def is_requested(self) -> bool:
        """Whether an API request made this delivery (a test or a redelivery); it ignores the endpoint's settings."""
        return bool(self.requested_id)

    @property
    def deliveries(self) -> list[Delivery]:
        """The deliveries of the message. A delivery has the id of its event, unless an API request made it."""
        return [
            Delivery(self.workspace_id, self.webhook_id, event_id, self.type, self.requested_id or event_id)
            for event_id in dict.fromkeys(self.event_ids)
        ]

    def text(self) -> str:
        """Return the message as the text of a queue message; `from_text` reads it."""
        return json.dumps(self)


class Continuation(NamedTuple):
    """The part of a fan-out that another invocation does: stored events of one type, in groups of one message each."""

    workspace_id: str
    type: str
    groups: tuple[tuple[str, ...], ...]

    def text(self) -> str:
        """Return the continuation as the text of a queue message; `continuation_from_text` reads it."""
        return json.dumps(self)


def from_text(text: str) -> Message:
    """Read the text of a queue message. Raises TypeError or ValueError if it is malformed."""
    workspace_id, webhook_id, type_, event_ids, requested_id = _list(json.loads(text))
    _require_texts((workspace_id, webhook_id, type_, requested_id))
    return Message(workspace_id, webhook_id, type_, _texts(event_ids), requested_id)


def continuation_from_text(text: str) -> Continuation:
    """Read the text of a continuation. Raises TypeError or ValueError if it is malformed."""
    workspace_id, type_, groups = _list(json.loads(text))
    _require_texts((workspace_id, type_))
    return Continuation(workspace_id, type_, tuple(map(_texts, _list(groups))))


def _texts(value: Any) -> tuple[str, ...]:
    _require_texts(texts := _list(value))
    return tuple(texts)


def _list(value: Any) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise TypeError("A message must consist of lists.")
    return value


def _require_texts(values: Iterable[Any]) -> None:
    if not all(isinstance(value, str) for value in values):
        raise TypeError("A list of a message must contain strings.")


def send(workspace_id: str, messages: Iterable[Message | Continuation], queue_name: str) -> None:
    """Send messages of a workspace to a queue. Raises Unavailable if the queue does not accept all of them."""
    queues.send(queue_name, [message.text() for message in messages], workspace_id)


def send_to_dead_letter(text: str) -> None:
    """Send an unreadable message to the dead-letter queue, for an operator to inspect. Raises Unavailable."""
    queues.send(DEAD_LETTER, [text], _UNREADABLE)
