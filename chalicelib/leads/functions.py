"""The Lambda entry point that counts leads for analytics: it reads the stream of the leads table.

It imports neither `app.py` nor wire models.
"""

import logging
from collections.abc import Iterable, Iterator
from typing import Any

from chalice.app import Blueprint, DynamoDBEvent

from chalicelib import settings, storage, telemetry
from chalicelib.analytics import store as analytics
from chalicelib.leads.store import LeadRow
from chalicelib.storage import encryption, images

functions = Blueprint(__name__)

_log = logging.getLogger(__name__)
_MAX_RECORDS = 1_000
_WINDOW_SECONDS = 60


@functions.on_dynamodb_record(
    settings.stream("leads"),
    _MAX_RECORDS,
    "TRIM_HORIZON",
    "tally_leads",
    maximum_batching_window_in_seconds=_WINDOW_SECONDS,
)
def tally_leads(event: DynamoDBEvent) -> None:
    """Store each new lead as a change that counts. Its channel is its origin."""
    telemetry.begin_invocation(event)
    analytics.record(_in_records(analytics.without_imports(event.to_dict()["Records"])))


def _in_records(records: Iterable[dict[str, Any]]) -> Iterator[analytics.Happened]:
    for record in records:
        if record["eventName"] == "INSERT":
            try:
                row = LeadRow.from_raw_data(images.decode(record["dynamodb"]["NewImage"]) or {})
                lead = row.open()
                agent, origin = storage.key(row.workspace_id, lead["agentId"]), {"origin": lead.get("channel")}
                yield analytics.Happened(agent, row.version_tag, {"leads": 1}, origin)
            except (KeyError, TypeError, ValueError, encryption.DecryptionError):
                _log.exception("Cannot read a lead in the stream; it is not counted")
