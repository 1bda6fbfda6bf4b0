"""The Lambda entry point that follows conversations: it keeps the number of those of each period up to date.

The stream of the conversations table says in which quarter hours conversations were created or deleted. Each shard is
read once a minute, or when there are 10,000 changes, which debounces the changes of a quarter hour. A queue delays the
request to count until the index shows the change. A count is an absolute number, so repeating one does no harm.

It imports neither `app.py` nor wire models.
"""

from itertools import groupby
from typing import Any, NamedTuple

from chalice.app import Blueprint, DynamoDBEvent

from chalicelib import queues, settings, storage, telemetry
from chalicelib.analytics import store as analytics
from chalicelib.conversations import counted_changes, handoff_notices, leftovers
from chalicelib.conversations.page_position import quarter_of
from chalicelib.conversations.rows import HEAD
from chalicelib.queues import stream_batches, tasks

functions = Blueprint(__name__)

_WINDOW_SECONDS = 60
_DELAY_SECONDS = 30
_MAX_RECORDS = 10_000
_START = "TRIM_HORIZON"


class _Change(NamedTuple):
    """What a record says: what it counts, with its row; a quarter hour to count; and a deleted conversation's key."""

    counted: analytics.Happened | None
    row: analytics.ChangeRow | None
    quarter: tasks.RecountQuarter | None
    deleted: str | None


@functions.on_dynamodb_record(
    settings.stream("conversations"),
    _MAX_RECORDS,
    _START,
    "tally_conversations",
    maximum_batching_window_in_seconds=_WINDOW_SECONDS,
)
def tally_conversations(event: DynamoDBEvent) -> None:
    """Request a count of each quarter hour in which a conversation was created that is new or has been deleted.

    Requests also that what is left of a deleted conversation is deleted (`leftovers`), stores what happened in
    conversations (`counted_changes`), and asks to notify people of those that request a person (`handoff_notices`).
    """
    telemetry.begin_invocation(event)
    stream_batches.process_or_raise("tally_conversations", event.to_dict()["Records"], _read, _write)


def _read(record: dict[str, Any]) -> _Change:
    counted = None if analytics.is_imported(record) else counted_changes.in_record(record)
    row = analytics.change_row(counted) if counted else None
    return _Change(counted, row, _changed_quarter(record), _deleted(record))


def _write(changes: list[_Change]) -> None:
    analytics.save([one.row for one in changes if one.row])
    _request_notifications([one.counted for one in changes if one.counted])
    deleted = {one.deleted for one in changes if one.deleted}
    for workspace_id, conversations in groupby(sorted(deleted), lambda one: storage.split_key(one)[0]):
        left = [tasks.ClearLeftovers(one) for one in conversations]
        tasks.send(workspace_id, left, leftovers.CLEAR_DELAY_SECONDS)
    changed = {one.quarter for one in changes if one.quarter}
    for workspace_id, quarters in groupby(sorted(changed), lambda one: storage.split_key(one.agent)[0]):
        tasks.send(workspace_id, quarters, _DELAY_SECONDS)


def _request_notifications(counted: list[analytics.Happened]) -> None:
    if settings.mail_sender() and settings.console_url():
        for workspace_id, texts in handoff_notices.messages(counted).items():
            queues.send(queues.NOTIFICATIONS, texts, workspace_id, handoff_notices.DELAY_SECONDS)


def _deleted(record: dict[str, Any]) -> str | None:
    """The partition key of a conversation that was deleted, by a caller or by TTL, otherwise None."""
    keys = record["dynamodb"]["Keys"]
    is_head = record["eventName"] == "REMOVE" and keys["item"]["S"] == HEAD
    return str(keys["conversation"]["S"]) if is_head else None


def _changed_quarter(record: dict[str, Any]) -> tasks.RecountQuarter | None:
    """The task to count the quarter hour of a conversation that was created or deleted, otherwise None."""
    change = record["dynamodb"]
    if record["eventName"] == "MODIFY" or change["Keys"]["item"]["S"] != HEAD:
        return None
    image = change.get("NewImage") or change["OldImage"]
    return tasks.RecountQuarter(image["agent"]["S"], *quarter_of(image["created"]["S"]))
