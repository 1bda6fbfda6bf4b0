"""Lambda entry point of notifications.

A message is either of the stream, `["requested", workspace, ms, [agent ids], after]`: conversations of the agents have
requested a person. It becomes a message for each client to notify, `["notify", workspace, client, ms, cursor?]`. Of 100
clients at a time, so that each invocation does a bounded amount of work.

It imports neither `app.py` nor wire models.
"""

import json
import logging

from chalice.app import Blueprint, SQSEvent

from chalicelib import queues, telemetry
from chalicelib.conversations import handoff_notices

functions = Blueprint(__name__)

_log = logging.getLogger(__name__)
_MAX_MESSAGES = 10


@functions.on_sqs_message(queues.name(queues.NOTIFICATIONS), _MAX_MESSAGES, "notify_people")
def notify_people(event: SQSEvent) -> dict[str, list[dict[str, str]]]:
    """Send mails, or find out to whom. Reports the failed messages; the queue repeats only these."""
    telemetry.begin_invocation(event)
    records = event.to_dict()["Records"]
    failed = [record["messageId"] for record in records if not _is_done(record["body"])]
    return {"batchItemFailures": [{"itemIdentifier": one} for one in failed]}


def _is_done(text: str) -> bool:
    from chalicelib.extensions.console.notifications import notifier  # with what the API does not need

    try:
        kind, workspace_id, *rest = json.loads(text)
        if kind == handoff_notices.KIND:
            notifier.request_each(workspace_id, *rest)
        else:
            notifier.notify(workspace_id, *rest)
    except Exception:
        _log.exception("Cannot notify people; the queue repeats the message")
        return False
    return True
