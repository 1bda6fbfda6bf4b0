"""The console function, which sends emails, and the permissions that the pages need."""

from infra.deploy.function import PARTIAL_FAILURES, READ_KEYRING, Function
from infra.deploy.monitoring import REDRIVE

FUNCTIONS = (
    Function(
        "notify_people",
        memory_mb=512,
        timeout_seconds=60,
        tables={
            **READ_KEYRING,
            "workspaces": "GetItem PutItem UpdateItem",
            "clients": "GetItem Query",
            "credentials": "UpdateItem",
            "organisations": "BatchGetItem GetItem",
            "agents": "BatchGetItem",
            "conversations": "BatchGetItem",
            "conversations/index/by_activity": "Query",
        },
        sends_to=("notifications",),
        queue="notifications",
        # SES allows 14 emails a second by default.
        mapping_settings={
            "ScalingConfig": {"MaximumConcurrency": 2},
            "FunctionResponseTypes": PARTIAL_FAILURES,
        },
        sends_mail=True,
    ),
)
# Saving a person requires that the administrator's permissions have not changed.
GRANTS = {
    "api_handler": {
        "clients": "ConditionCheckItem",
        "credentials": "ConditionCheckItem",
        "webhooks": "BatchGetItem",
        "workspaces": "BatchGetItem",
    },
    "follow_conversations": READ_KEYRING,
}
SENDS = {"api_handler": ("notifications",), "follow_conversations": ("notifications",)}
DEAD_LETTER_ALARMS = {"DeadNotifications": f"Emails from the console have failed. {REDRIVE}"}
