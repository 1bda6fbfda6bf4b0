"""Checks of the alarms, the topic that they notify, and the stage's self-check function."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from infra.deploy import template
from infra.deploy.sdk_errors import unless_missing
from infra.tables import resolve
from infra.verify.deployment import NOT_BY_DEPLOYMENT, Deployment, Note

_RULES = (
    "ComparisonOperator",
    "DatapointsToAlarm",
    "EvaluationPeriods",
    "Period",
    "Statistic",
    "Threshold",
    "TreatMissingData",
)


def check_alarms(stage: Deployment) -> Iterator[str]:
    """Check each alarm, its topic and the self-check function; note what the operator needs to know."""
    topic = stage.outputs["AlarmsTopicArn"]
    pages = stage.sdk("cloudwatch").get_paginator("describe_alarms").paginate(AlarmNamePrefix=f"{stage.name}-")
    alarms = {one["AlarmName"]: one for page in pages for one in page["MetricAlarms"]}
    for properties in template.declared("AWS::CloudWatch::Alarm", stage.extensions):
        name = resolve(properties["AlarmName"], stage.name)
        alarm = alarms.get(name)
        if alarm is None:
            yield f"The alarm {name} does not exist. {NOT_BY_DEPLOYMENT}."
        elif different := _different(alarm, properties):
            yield f"The alarm {name} has a different {', '.join(different)}. {NOT_BY_DEPLOYMENT}."
        elif not alarm["ActionsEnabled"] or topic not in alarm["AlarmActions"]:
            yield f"The alarm {name} does not notify {topic}: run `aws cloudwatch enable-alarm-actions`."
        elif alarm.get("StateValue") == "ALARM":
            yield Note(f"the alarm {name} is in the ALARM state: {alarm.get('StateReason', '')}")
    yield from _check_problems(stage)
    policy = json.loads(stage.sdk("sns").get_topic_attributes(TopicArn=topic)["Attributes"].get("Policy", "{}"))
    if any(statement["Effect"] == "Deny" and "Condition" not in statement for statement in policy.get("Statement", ())):
        yield f"The policy of the topic {topic} denies access, so alarms may be lost: remove its Deny statement."
    subscriptions = stage.sdk("sns").list_subscriptions_by_topic(TopicArn=topic)["Subscriptions"]
    if not any(subscription["SubscriptionArn"].startswith("arn:") for subscription in subscriptions):
        yield Note(f"the alarms have no recipient: {topic} has no confirmed subscription (docs/operate.md, Deploy)")


def _different(alarm: dict[str, Any], declared: dict[str, Any]) -> list[str]:
    """Return the names of differing properties that determine when the alarm fires, except its metrics."""
    return [key for key in _RULES if key in declared and alarm.get(key) != declared[key]]


def _check_problems(stage: Deployment) -> Iterator[str]:
    """Yield a problem if the self-check function does not exist or is not invoked every five minutes."""
    check = f"{stage.name}-check"
    if unless_missing(stage.sdk("lambda").get_function_configuration, FunctionName=check) is None:
        yield f"The function {check} does not exist. {NOT_BY_DEPLOYMENT}."
    resource = stage.sdk("cloudformation").describe_stack_resource(
        StackName=stage.name, LogicalResourceId="CheckSchedule"
    )
    rule = resource["StackResourceDetail"]["PhysicalResourceId"]
    described = unless_missing(stage.sdk("events").describe_rule, Name=rule)
    if described is None:
        yield f"The rule {rule}, which invokes {check}, does not exist. {NOT_BY_DEPLOYMENT}."
    elif (state := described["State"]) != "ENABLED":
        yield f"The rule {rule}, which invokes {check}, is {state}: run `aws events enable-rule --name {rule}`."
