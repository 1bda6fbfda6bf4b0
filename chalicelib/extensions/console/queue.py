"""The queue of the console, and its messages: emails to people whose conversations wait for a person."""

from collections.abc import Iterable
from typing import NamedTuple

from chalicelib import queues
from chalicelib.extensions.console.extension import QUEUE
from chalicelib.queues import messages


class FindRecipients(NamedTuple):
    """Conversations of these agents request a person, the newest since `requested_at` in Unix milliseconds.

    Each client after the id `after` with notifications for one of the agents gets an email.
    """

    workspace_id: str
    requested_at: int
    agent_ids: tuple[str, ...]
    after: str = ""


class Notify(NamedTuple):
    """Send a client an email about the conversations that wait. A search continues at `cursor`."""

    workspace_id: str
    client_id: str
    requested_at: int
    cursor: str | None = None


KINDS: tuple[type[FindRecipients | Notify], ...] = (FindRecipients, Notify)


def send(workspace_id: str, notices: Iterable[FindRecipients | Notify], delay_seconds: int = 0) -> None:
    """Send messages of a workspace. Raise Unavailable if the queue does not accept all of them."""
    queues.send(QUEUE, [messages.pack(notice) for notice in notices], workspace_id, delay_seconds)
