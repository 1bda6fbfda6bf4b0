"""The function that appends events to feeds, and the queue that fan-out sends to."""

from infra.deploy.function import PARTIAL_FAILURES, Function
from infra.deploy.monitoring import REDRIVE

_SENDS = ("feeds",)

FUNCTIONS = (
    # Writers of the same feed conflict, so few run at the same time.
    Function(
        "append_events",
        memory_mb=256,
        timeout_seconds=60,
        tables={"events": "BatchGetItem PutItem Query UpdateItem"},
        queue="feeds",
        mapping_settings={"ScalingConfig": {"MaximumConcurrency": 5}, "FunctionResponseTypes": PARTIAL_FAILURES},
    ),
)
GRANTS = {"api_handler": {"webhooks": "BatchGetItem", "events": "BatchGetItem Query"}}
SENDS = {f"fan_out_{table}": _SENDS for table in ("agents", "conversations", "clients", "organisations", "leads")} | {
    "maintain": _SENDS
}
DEAD_LETTER_ALARMS = {"DeadFeeds": f"Events for pull endpoints are dead letters. {REDRIVE}"}
