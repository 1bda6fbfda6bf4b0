"""The Lambda entry point `count_hours`, which processes the queue `counts`.

The function's timeout is shorter than its message delay, so that no count is written after a newer one. This module
imports neither `app.py` nor wire models.
"""

import logging

from chalice.app import Blueprint, SQSEvent

from chalicelib import queues, telemetry
from chalicelib.extensions.reports.extension import QUEUE
from chalicelib.extensions.reports.queue import RecountHour
from chalicelib.queues import messages

functions = Blueprint(__name__)

_log = logging.getLogger(__name__)
_MAX_MESSAGES = 10


@functions.on_sqs_message(queues.name(QUEUE), _MAX_MESSAGES, "count_hours")
def count_hours(event: SQSEvent) -> dict[str, list[dict[str, str]]]:
    """Recount hours. Return the failed messages, so that the queue redelivers only these."""
    telemetry.begin_invocation(event)
    records = event.to_dict()["Records"]
    failed = [record["messageId"] for record in records if not _count(record["body"])]
    return {"batchItemFailures": [{"itemIdentifier": message_id} for message_id in failed]}


def _count(text: str) -> bool:
    """Recount a message's hour. Return whether the count succeeded."""
    from chalicelib.extensions.reports import counts  # the API does not need this module at its start

    try:
        counts.recount(*messages.parse(text, [RecountHour]))
    except Exception:
        _log.exception("Cannot recount an hour; the queue will redeliver the request")
        return False
    return True
