"""Notifies a person with one email about all waiting conversations, at most every five minutes.

- Before the claim, a crash has no effect, because the queue redelivers the message.
- After the claim, a crash leaves it unknown whether the email was sent. The redelivered message waits until the five
  minutes are over, then lists the conversations that are still waiting. Therefore, emails to a person are at least five
  minutes apart, and no request is lost.
- After the confirmation, a redelivered message finds that the email has covered its conversations.

Each search is bounded, so it may find nothing if visitors flood other people's agents. In that case, a message with the
cursor continues the search, back to an hour before the request.
"""

import logging
from math import ceil

from chalicelib import clock, errors, storage
from chalicelib.extensions.console import queue
from chalicelib.extensions.console.notifications import allowance, inbox, notices, recipients
from chalicelib.extensions.console.notifications.notices import NoticeRow
from chalicelib.extensions.console.notifications.recipients import Recipient
from chalicelib.extensions.console.queue import FindRecipients, Notify
from chalicelib.workspaces import store as workspaces

# A message contains the time of a batch's newest request. Other requests are up to a minute older, or more if the
# stream was delayed.
_SEARCHED_MILLISECONDS = 3_600_000
_log = logging.getLogger(__name__)


def find_recipients(message: FindRecipients) -> None:
    """Send a message for each of the next 100 clients to notify, and one message for the rest."""
    workspace_id, requested_at, agent_ids, after = message
    client_ids, following = recipients.list_page(workspace_id, agent_ids, after)
    queue.send(workspace_id, [Notify(workspace_id, client_id, requested_at) for client_id in client_ids])
    if following:
        queue.send(workspace_id, [message._replace(after=following)])


def notify(message: Notify) -> None:
    """Send the requested email, postpone it with another message, or do nothing. Raise database, KMS and SES errors."""
    storage.retry_on_conflict(lambda: _notify(message))


def _notify(message: Notify) -> None:
    row = notices.find(message.workspace_id, message.client_id)
    if row and row.covers(message.requested_at):
        return
    if row and (left := row.milliseconds_left()) > 0:
        queue.send(message.workspace_id, [message._replace(cursor=None)], ceil(left / 1000))
        return
    recipient = recipients.find(message.workspace_id, message.client_id)
    if recipient and is_active(message.workspace_id):
        _send(message, recipient, row)


def _send(message: Notify, recipient: Recipient, row: NoticeRow | None) -> None:
    from chalicelib.extensions.console.notifications import mail

    workspace_id, _, requested_at, cursor = message
    listed_at, since = clock.milliseconds(), row.covered_until if row else 0
    waiting, rest = inbox.find_waiting(workspace_id, recipient.agent_ids, cursor)
    if not any(_is_after(conversation.changed_at, since) for conversation in waiting):
        if rest and _is_after(inbox.second_of(rest), max(since, requested_at - _SEARCHED_MILLISECONDS)):
            queue.send(workspace_id, [message._replace(cursor=rest)])
        return
    content = mail.compose(workspace_id, recipient, waiting)
    if not allowance.take(workspace_id):
        _log.warning("A workspace has used up its daily email allowance, so an email was not sent: %s", workspace_id)
        return
    claimed = notices.claim(row, workspace_id, recipient.client_id, listed_at)
    try:
        mail.send(content, recipient.client["email"])
    except mail.Refused:
        claimed.is_refused = True
        _log.exception("SES rejected an email; it will not be sent again: %s", claimed)
    except mail.NotSent:
        allowance.give_back(workspace_id)
        raise
    # The email omits the conversations before the cursor, so it does not cover them.
    if cursor is None:
        notices.confirm(claimed)


def _is_after(second: int, milliseconds: int) -> bool:
    return (second + 1) * 1000 > milliseconds


def is_active(workspace_id: str) -> bool:
    """Return whether the workspace exists and is not suspended. This costs one request."""
    try:
        workspaces.require_active(workspace_id)
    except (errors.NotFound, errors.WorkspaceSuspended):
        return False
    return True
