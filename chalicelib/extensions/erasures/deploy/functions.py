"""The erasure function, and the queue that the API sends erasures to."""

from infra.deploy.function import READ_KEYRING, Function
from infra.deploy.monitoring import REDRIVE

FUNCTIONS = (
    # A page contains 25 decrypted records of up to 390 KB each.
    Function(
        "erase",
        memory_mb=512,
        timeout_seconds=60,
        tables={
            **READ_KEYRING,
            "workspaces": "BatchWriteItem DeleteItem GetItem PutItem Query",
            "agents/index/by_workspace": "Query",
            "conversations": "ConditionCheckItem DeleteItem GetItem Query",
            "conversations/index/by_creation": "Query",
            "analytics": "BatchWriteItem Query",
            "leads": "BatchWriteItem Query",
            "events": "BatchWriteItem Query",
            "idempotency": "BatchGetItem BatchWriteItem GetItem",
            "idempotency/index/by_workspace": "Query",
        },
        sends_to=("erasures",),
        queue="erasures",
        mapping_settings={"ScalingConfig": {"MaximumConcurrency": 10}},
        keys={"ReceiptKeyArn": "Sign"},
    ),
)
GRANTS = {"api_handler": {"workspaces": "BatchGetItem"}}
SENDS = {"api_handler": ("erasures",)}
DEAD_LETTER_ALARMS = {"DeadErasures": f"An erasure has failed. {REDRIVE}"}
