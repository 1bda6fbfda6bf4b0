"""The webhook queue attributes that are derived from the retry policy, as a template part."""

from typing import Any

from chalicelib.webhooks import retry_policy


def template() -> dict[str, Any]:
    """Return the template part."""
    properties = {
        "VisibilityTimeout": retry_policy.VISIBILITY_SECONDS,
        "MessageRetentionPeriod": retry_policy.QUEUE_RETENTION_DAYS * 24 * 60 * 60,
        "RedrivePolicy": {
            "deadLetterTargetArn": {"Fn::GetAtt": ["DeadDeliveriesQueue", "Arn"]},
            "maxReceiveCount": retry_policy.MAX_RECEIVES,
        },
    }
    return {"Resources": {name: {"Properties": properties} for name in ("DeliveriesQueue", "SlowDeliveriesQueue")}}
