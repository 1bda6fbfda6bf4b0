"""The log groups and the alarms of the stack, generated from the table of functions. docs/operate.md explains them.

Names of resources keep the parameters of the template: `${Name}` is the name of the stack.
"""

from __future__ import annotations

from typing import Any

from infra.deploy.functions import API, FUNCTIONS, Function

Resources = dict[str, dict[str, Any]]
"""Resources of a template by their logical id."""

_NAME = "${Name}"
_LOG_RETENTION_DAYS = 30
_FAN_OUT_LATE_MS = 60_000
_LATE_MS = 300_000
_LATE_SECONDS = 300
_SLOW_LATE_SECONDS = 3600


def log_groups() -> Resources:
    """Return a log group per function. Lambda would create it on first use, without a retention period."""
    return {
        f"{_camel_case('api' if one.name == API else one.name)}Log": {
            "Type": "AWS::Logs::LogGroup",
            "Condition": "IsServing",
            "Properties": {
                "LogGroupName": {"Fn::Sub": f"/aws/lambda/{one.deployed_name(_NAME)}"},
                "RetentionInDays": _LOG_RETENTION_DAYS,
            },
        }
        for one in FUNCTIONS
    }


def alarms() -> Resources:
    """Return the alarms, each with the topic `AlarmsTopic` for both transitions."""
    return {**_api_alarms(), **_stream_alarms(), **_delivery_alarms(), **_queue_alarms()}


def _api_alarms() -> Resources:
    stage: list[dict[str, Any]] = [{"Name": "ApiName", "Value": "cams"}, {"Name": "Stage", "Value": {"Ref": "Stage"}}]
    return {
        **_alarm(
            "ApiFailing",
            "The API answers requests with 5xx",
            _metric("AWS/ApiGateway", "5XXError", "Sum", stage),
            threshold=5,
        ),
        # Without dimensions, for all functions of the region: they share the account's concurrency limit.
        **_alarm(
            "FunctionsThrottled",
            "Lambda throttles invocations at the account's concurrency limit",
            _metric("AWS/Lambda", "Throttles", "Sum"),
            threshold=1,
        ),
    }


def _stream_alarms() -> Resources:
    alarms: Resources = {}
    for one in FUNCTIONS:
        if one.stream:
            name, description = _lateness(one, one.stream)
            metric = _metric("AWS/Lambda", "IteratorAge", "Maximum", _of_function(one), period=60)
            threshold = _FAN_OUT_LATE_MS if one.name.startswith("fan_out_") else _LATE_MS
            alarms |= _alarm(name, description, metric, threshold=threshold, periods=5)
    return alarms


def _lateness(function: Function, table: str) -> tuple[str, str]:
    """Return the name and the description of the alarm on a late stream."""
    if function.name.startswith("fan_out_"):
        return f"{table.title()}StreamLate", f"Changes of {table} take more than a minute to become events"
    if function.name.startswith("history_"):
        minutes = "take more than five minutes to appear in the history"
        return f"{table.title()}HistoryLate", f"Changes of {table} {minutes}"
    counted = {
        "conversations": "Conversations",
        "leads": "Leads",
        "analytics": "Page loads",
        "deliveries": "Webhooks that were sent",
    }[table]
    name = "TalliesLate" if table == "conversations" else f"{table.title()}TalliesLate"
    return name, f"{counted} take more than five minutes to be counted"


def _delivery_alarms() -> Resources:
    by_name = {one.name: one for one in FUNCTIONS}
    failures = {"DeliveriesFailing": ("deliver", ""), "SlowDeliveriesFailing": ("deliver_slow", " to slow receivers")}
    alarms: Resources = {}
    # Failures of the function only. An unreachable receiver is an outcome, which the ledger records.
    for name, (function, receivers) in failures.items():
        metric = _metric("AWS/Lambda", "Errors", "Sum", _of_function(by_name[function]))
        alarms |= _alarm(name, f"The function that delivers webhooks{receivers} fails", metric, threshold=5)
    # Failures of receivers: a custom metric (chalicelib/telemetry.py) in the namespace of the stage.
    metric = _metric({"Ref": "Name"}, "failedDeliveries", "Sum")
    return alarms | _alarm("WebhooksRefused", "Receivers reject webhooks or are unreachable", metric, threshold=20)


def _queue_alarms() -> Resources:
    waiting = {
        "FanOutLate": ("FanOutQueue", "Continuations of a fan-out wait for more than 5 minutes", _LATE_SECONDS),
        "DeliveriesLate": (
            "DeliveriesQueue",
            "Webhooks wait for more than 5 minutes before they are sent",
            _LATE_SECONDS,
        ),
        "SlowDeliveriesLate": (
            "SlowDeliveriesQueue",
            "Webhooks to slow receivers wait for more than an hour before they are sent",
            _SLOW_LATE_SECONDS,
        ),
    }
    dead = {
        "DeadDeliveries": "Webhooks or stream records are dead letters: run `infra.cams redrive-streams` today",
        "DeadCascades": "The cascading deletion of an agent has failed",
        "DeadErasures": "An erasure, or the expiry of conversations, has failed and is no longer retried",
        "DeadTallies": "A count of conversations has failed and is no longer retried",
        "DeadNotifications": "Mails about waiting conversations have failed and are no longer retried",
    }
    alarms: Resources = {}
    for name, (queue, description, threshold) in waiting.items():
        metric = _metric("AWS/SQS", "ApproximateAgeOfOldestMessage", "Maximum", _of_queue(queue), period=60)
        alarms |= _alarm(name, description, metric, threshold=threshold, periods=5)
    for name, description in dead.items():
        dead_letters = _of_queue(f"{name}Queue")
        metric = _metric("AWS/SQS", "ApproximateNumberOfMessagesVisible", "Maximum", dead_letters, period=60)
        alarms |= _alarm(name, description, metric, threshold=1)
    return alarms


def _alarm(name: str, description: str, metric: dict[str, Any], *, threshold: int, periods: int = 1) -> Resources:
    return {
        name: {
            "Type": "AWS::CloudWatch::Alarm",
            "Condition": "IsServing",
            "Properties": {
                "AlarmName": {"Fn::Sub": f"{_NAME}-{name}"},
                "AlarmDescription": description,
                "AlarmActions": [{"Ref": "AlarmsTopic"}],
                "OKActions": [{"Ref": "AlarmsTopic"}],
                "ComparisonOperator": "GreaterThanOrEqualToThreshold",
                "TreatMissingData": "notBreaching",
                **metric,
                "EvaluationPeriods": periods,
                "Threshold": threshold,
            },
        }
    }


def _metric(
    namespace: Any, name: str, statistic: str, dimensions: list[dict[str, Any]] | None = None, *, period: int = 300
) -> dict[str, Any]:
    metric = {"Namespace": namespace, "MetricName": name, "Statistic": statistic, "Period": period}
    return {**metric, "Dimensions": dimensions} if dimensions else metric


def _of_function(function: Function) -> list[dict[str, Any]]:
    return [{"Name": "FunctionName", "Value": {"Fn::Sub": function.deployed_name(_NAME)}}]


def _of_queue(logical_id: str) -> list[dict[str, Any]]:
    return [{"Name": "QueueName", "Value": {"Fn::GetAtt": [logical_id, "QueueName"]}}]


def _camel_case(name: str) -> str:
    return "".join(map(str.title, name.split("_")))
