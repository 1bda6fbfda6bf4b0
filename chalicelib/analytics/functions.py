"""Lambda entry points of reports: one stores page loads as changes that count, one adds up the changes of hours.

They import neither `app.py` nor wire models.
"""

import logging
from collections import defaultdict
from typing import Any

from chalice.app import Blueprint, DynamoDBEvent, SQSEvent

from chalicelib import queues, settings, telemetry
from chalicelib.analytics import counts, store
from chalicelib.analytics.hours import Happened
from chalicelib.queues import messages, stream_batches
from chalicelib.storage import images

functions = Blueprint(__name__)

_log = logging.getLogger(__name__)
_MAX_MESSAGES = 10
_MAX_RECORDS = 1_000
_WINDOW_SECONDS = 60
_MEMBERS = {
    "origin": "origin",
    "country": "countryCode",
    "browser": "browser",
    "platform": "platform",
    "language": "langCode",
}


@functions.on_dynamodb_record(
    settings.stream("analytics"),
    _MAX_RECORDS,
    "TRIM_HORIZON",
    "tally_analytics",
    maximum_batching_window_in_seconds=_WINDOW_SECONDS,
)
def tally_analytics(event: DynamoDBEvent) -> None:
    """Store each page load as a change that counts, and the first one of a conversation id as a new visitor."""
    telemetry.begin_invocation(event)
    stream_batches.process_or_raise("tally_analytics", event.to_dict()["Records"], _read, counts.save)


@functions.on_sqs_message(queues.name(queues.COUNTS), _MAX_MESSAGES, "count_hours")
def count_hours(event: SQSEvent) -> dict[str, list[dict[str, str]]]:
    """Count hours again. Reports the failed messages; the queue repeats only these."""
    telemetry.begin_invocation(event)
    ids: dict[str, list[str]] = defaultdict(list)
    for record in event.to_dict()["Records"]:
        ids[record["body"]].append(record["messageId"])
    failed = []
    for text in ids:
        try:
            counts.recount(*messages.parse(text, [counts.RecountHour]))
        except Exception:
            _log.exception("Cannot count an hour again; the queue repeats the request")
            failed += ids[text]
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def _read(record: dict[str, Any]) -> counts.ChangeRow | None:
    new, old = (images.decode(record["dynamodb"].get(name)) or {} for name in ("NewImage", "OldImage"))
    if new.get("load") in (None, old.get("load")) or counts.is_imported(record):
        return None
    return counts.change_row(_load(store.AnalyticsRow.from_raw_data(new), is_first="load" not in old))


def _load(row: store.AnalyticsRow, *, is_first: bool) -> Happened:
    load = store.records(row)[0]
    values = {name: load.get(member) for name, member in _MEMBERS.items()}
    return Happened(row.agent, row.version_tag, {"loads": 1, "newVisitors": int(is_first)}, values)
