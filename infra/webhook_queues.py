"""The attributes of the webhooks' queues that follow from the retry policy, as a part of the template."""

from typing import Any

from chalicelib.webhooks import retry_policy


def template() -> dict[str, Any]:
    """Return the part of the template."""
    properties = {
        "VisibilityTimeout": retry_policy.VISIBILITY_SECONDS,
        "MessageRetentionPeriod": retry_policy.QUEUE_RETENTION_DAYS * 24 * 60 * 60,
        "RedrivePolicy": {
            "deadLetterTargetArn": {"Fn::GetAtt": ["DeadDeliveriesQueue", "Arn"]},
            "maxReceiveCount": retry_policy.MAX_RECEIVES,
        },
    }
    return {"Resources": {name: {"Properties": properties} for name in ("DeliveriesQueue", "SlowDeliveriesQueue")}}
