"""Notify a person: one mail about all conversations that wait, at most every five minutes.

- Before the claim, a crash costs nothing: the queue repeats the message.
- After it, the mail may or may not have left, and nobody can tell. The repeated message waits until the five minutes
  are over, then lists again what still waits. So a person gets no second mail at once, and no request is lost.
- After the confirmation, repeats find that the mail has covered them.

Each search is bounded. If visitors flood the agents of other people, it may find nothing; a message with its cursor
continues it, up to an hour before the request.
"""

import json
import logging
from math import ceil

from chalicelib import clock, errors, queues, storage
from chalicelib.conversations import handoff_notices
from chalicelib.extensions.console.notifications import allowance, inbox, notices, recipients
from chalicelib.extensions.console.notifications.notices import NoticeRow
from chalicelib.extensions.console.notifications.recipients import Recipient
from chalicelib.workspaces import store as workspaces

# A message is about the newest request of a batch. The others are a minute older, or more if the stream was late.
_SEARCHED_MILLISECONDS = 3_600_000
_log = logging.getLogger(__name__)


def request_each(workspace_id: str, requested_at: int, agent_ids: list[str], after: str) -> None:
    """Send a message for each of the next 100 clients after the id `after` who is notified, and one for the rest."""
    client_ids, following = recipients.list_page(workspace_id, agent_ids, after)
    texts = [_message(workspace_id, client_id, requested_at) for client_id in client_ids]
    if following:
        texts.append(json.dumps([handoff_notices.KIND, workspace_id, requested_at, agent_ids, following]))
    queues.send(queues.NOTIFICATIONS, texts, workspace_id)


def notify(workspace_id: str, client_id: str, requested_at: int, cursor: str | None = None) -> None:
    """Send the mail that a message asks for, or send the message again for later, or do nothing.

    `requested_at` is when a conversation requested a person, in ms; `cursor` is where a search continues. Raises what
    the database, KMS or SES fail with.
    """
    storage.retry_on_conflict(lambda: _notify(workspace_id, client_id, requested_at, cursor))


def _message(workspace_id: str, client_id: str, requested_at: int, *cursor: str) -> str:
    return json.dumps(["notify", workspace_id, client_id, requested_at, *cursor])


def _notify(workspace_id: str, client_id: str, requested_at: int, cursor: str | None) -> None:
    row = notices.find(workspace_id, client_id)
    if row and row.covers(requested_at):
        return
    if row and (left := row.milliseconds_left()) > 0:
        message = _message(workspace_id, client_id, requested_at)
        queues.send(queues.NOTIFICATIONS, [message], workspace_id, ceil(left / 1000))
        return
    recipient = recipients.find(workspace_id, client_id)
    if recipient and _is_in_use(workspace_id):
        _send(workspace_id, recipient, row, requested_at, cursor)


def _send(
    workspace_id: str, recipient: Recipient, row: NoticeRow | None, requested_at: int, cursor: str | None
) -> None:
    from chalicelib.extensions.console.notifications import mail

    listed_at, since = clock.milliseconds(), row.covered_until if row else 0
    waiting, rest = inbox.find_waiting(workspace_id, recipient.agent_ids, cursor)
    if not any(_is_after(one.changed_at, since) for one in waiting):
        if rest and _is_after(inbox.second_of(rest), max(since, requested_at - _SEARCHED_MILLISECONDS)):
            message = _message(workspace_id, recipient.client_id, requested_at, rest)
            queues.send(queues.NOTIFICATIONS, [message], workspace_id)
        return
    content = mail.compose(workspace_id, recipient, waiting)
    if not allowance.take(workspace_id):
        _log.warning("A workspace has sent its mails of the day; this one is not sent: %s", workspace_id)
        return
    claimed = notices.claim(row, workspace_id, recipient.client_id, listed_at)
    try:
        mail.send(content, recipient.client["email"])
    except mail.Refused:
        claimed.is_refused = True
        _log.exception("SES refuses a mail; it is not sent again: %s", claimed)
    except mail.NotSent:
        allowance.give_back(workspace_id)
        raise
    # What came before the cursor is not in the mail, so it covers nothing.
    if cursor is None:
        notices.confirm(claimed)


def _is_after(second: int, milliseconds: int) -> bool:
    return (second + 1) * 1000 > milliseconds


def _is_in_use(workspace_id: str) -> bool:
    try:
        workspaces.require_active(workspace_id)
    except (errors.NotFound, errors.WorkspaceSuspended):
        return False
    return True
