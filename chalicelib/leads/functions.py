"""The Lambda entry point that counts leads for analytics: it reads the stream of the leads table.

It imports neither `app.py` nor wire models.
"""

from typing import Any

from chalice.app import Blueprint, DynamoDBEvent

from chalicelib import settings, storage, telemetry
from chalicelib.analytics import store as analytics
from chalicelib.leads.store import LeadRow
from chalicelib.queues import stream_batches
from chalicelib.storage import images

functions = Blueprint(__name__)

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
    stream_batches.process_or_raise("tally_leads", event.to_dict()["Records"], _read, analytics.save)


def _read(record: dict[str, Any]) -> analytics.ChangeRow | None:
    if record["eventName"] != "INSERT" or analytics.is_imported(record):
        return None
    row = LeadRow.from_raw_data(images.decode(record["dynamodb"]["NewImage"]) or {})
    lead = row.open()
    agent, origin = storage.key(row.workspace_id, lead["agentId"]), {"origin": lead.get("channel")}
    return analytics.change_row(analytics.Happened(agent, row.version_tag, {"leads": 1}, origin))
