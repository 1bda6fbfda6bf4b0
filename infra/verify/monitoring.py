"""The checks of the alarms and of the topic that they notify."""

from __future__ import annotations

from collections.abc import Iterator

from infra.deploy import template
from infra.verify.deployment import Deployment, Note


def check_alarms(stage: Deployment) -> Iterator[str]:
    """Check that each alarm exists, is enabled and notifies the topic, and note what the operator has to know."""
    topic = stage.outputs["AlarmsTopicArn"]
    pages = stage.sdk("cloudwatch").get_paginator("describe_alarms").paginate(AlarmNamePrefix=f"{stage.name}-")
    alarms = {one["AlarmName"]: one for page in pages for one in page["MetricAlarms"]}
    for properties in template.declared("AWS::CloudWatch::Alarm"):
        name = properties["AlarmName"]["Fn::Sub"].replace("${Name}", stage.name)
        alarm = alarms.get(name)
        if alarm is None:
            yield f"The alarm {name} does not exist: create it as `infra/deploy/monitoring.py` declares it."
        elif not alarm["ActionsEnabled"] or topic not in alarm["AlarmActions"]:
            yield f"The alarm {name} does not notify {topic}: run `aws cloudwatch enable-alarm-actions`."
        elif alarm.get("StateValue") == "ALARM":
            yield Note(f"the alarm {name} is ringing: {alarm.get('StateReason', '')}")
    subscriptions = stage.sdk("sns").list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]
    if not any(one["SubscriptionArn"].startswith("arn:") for one in subscriptions):
        yield Note(f"nobody receives the alarms: {topic} has no confirmed subscription (docs/operate.md, Deploy)")
