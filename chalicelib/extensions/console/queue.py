"""The console's queue and its messages, which request emails to people."""

from collections.abc import Iterable
from typing import NamedTuple

from chalicelib import queues
from chalicelib.extensions.console.extension import QUEUE
from chalicelib.queues import messages


class FindRecipients(NamedTuple):
    """Requests emails about these agents' conversations that request a person.

    `requested_at` is the time of the newest such request, in Unix milliseconds. Clients after the id `after` that
    receive notifications for one of the agents get an email.
    """

    workspace_id: str
    requested_at: int
    agent_ids: tuple[str, ...]
    after: str = ""


class Notify(NamedTuple):
    """Requests an email to a client about waiting conversations. The search continues at `cursor`."""

    workspace_id: str
    client_id: str
    requested_at: int
    cursor: str | None = None


class SendLink(NamedTuple):
    """Requests an email with a one-time link to a client, for a purpose in `one_time_links.LIFETIMES`.

    The function that sends the email creates the link, so the queue contains no token.
    """

    workspace_id: str
    client_id: str
    purpose: str


class SendResetLink(NamedTuple):
    """Requests an email with a link for a forgotten password to the client with the email whose hash is `claim`."""

    workspace_id: str
    claim: str


class SendChangeNotice(NamedTuple):
    """Requests an email about a client's new email or password, which `member` names, or `both`.

    `address` is the sealed address before the change, and `changed_at` the time in Unix seconds.
    """

    workspace_id: str
    client_id: str
    member: str
    changed_at: int
    address: str


Message = FindRecipients | Notify | SendLink | SendResetLink | SendChangeNotice
KINDS: tuple[type[Message], ...] = (FindRecipients, Notify, SendLink, SendResetLink, SendChangeNotice)


def send(workspace_id: str, notices: Iterable[Message], delay_seconds: int = 0) -> None:
    """Send a workspace's messages. Raise Unavailable if the queue does not accept all of them."""
    queues.send(QUEUE, [messages.pack(notice) for notice in notices], workspace_id, delay_seconds)
