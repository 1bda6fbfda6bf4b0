"""The report functions, which follow the counted tables and add up hourly counts."""

from infra.deploy.function import PARTIAL_FAILURES, READ_KEYRING, Function, follow

_COUNTS = "counts"
_WRITES = {**READ_KEYRING, "tallies": "BatchWriteItem"}

FUNCTIONS = (
    follow("leads", _WRITES, (_COUNTS,), event_filter={"eventName": ["INSERT"]}),
    follow("analytics", _WRITES, (_COUNTS,), event_filter={"eventName": ["INSERT", "MODIFY"]}),
    follow(
        "deliveries",
        _WRITES,
        (_COUNTS,),
        event_filter={"dynamodb": {"NewImage": {"outcome": {"S": ["delivered", "failed"]}}}},
    ),
    # The timeout is shorter than the message delay, so that no count is written after a newer one. The memory is
    # sufficient to decrypt an hour's changes in that time, at most a few hundred thousand.
    Function(
        "count_hours",
        memory_mb=1024,
        timeout_seconds=25,
        tables={
            **READ_KEYRING,
            "workspaces": "BatchGetItem",
            "agents": "BatchGetItem",
            "tallies": "BatchGetItem PutItem Query",
        },
        queue=_COUNTS,
        mapping_settings={
            "ScalingConfig": {"MaximumConcurrency": 5},
            "FunctionResponseTypes": PARTIAL_FAILURES,
        },
    ),
)
GRANTS = {
    # A report counts an hour with many changes itself.
    "api_handler": {"tallies": "BatchWriteItem PutItem Query"},
    "follow_conversations": _WRITES,
    "maintain": {"tallies": "BatchWriteItem Query"},
}
SENDS = {"follow_conversations": (_COUNTS,)}
LATE_ALARM = ("ReportsLate", "Reports are more than five minutes behind changes.")
DEAD_LETTER_ALARMS = {
    "DeadCounts": "Counting an hour has failed. Run `python -m infra.cams tallies recount`, then purge the queue."
}
