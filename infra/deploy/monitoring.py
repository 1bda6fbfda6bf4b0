"""The stack's log groups and alarms, generated from the function table and explained in docs/operate.md.

Only service failures raise an alarm. A workspace's failing receiver raises no alarm: its failures appear in a metric
and in the delivery lists. In names, `${Name}` is the template parameter with the stack name.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from infra import extension_parts
from infra.deploy.function import API, APPLICATION, Function

Resources = dict[str, dict[str, Any]]
"""Template resources, keyed by logical id."""

NAME = "${Name}"
_LOG_RETENTION_DAYS = 30
_MINUTE, _FIVE_MINUTES = 60, 300
_SUM: dict[str, Any] = {"Statistic": "Sum", "Period": _FIVE_MINUTES}
_LATE_MS, _FAN_OUT_LATE_MS, _LATE_SECONDS = 300_000, 60_000, 300
# Most requests take less than 0.1 s, the most expensive requests use 0.5 s of CPU time, and a cold start takes one or
# two seconds.
_SLOW_MS = 3_000
_DOC = "See docs/operate.md, section Alarms."
REDRIVE = "Then run `aws sqs start-message-move-task`: docs/operate.md, section Dead letters."
"""The last sentence of the alarms for dead-letter queues whose messages can be redriven."""
_REDRIVE_STREAMS = "python -m infra.cams redrive-streams"
# The name and first sentence of each alarm, keyed by the prefixes of its functions.
_LATE_BY_PREFIX = {
    "follow_conversations": ("TalliesLate", "Conversation counts lag behind changes by more than five minutes."),
}
_DEAD_LETTERS = {
    "DeadDeliveries": f"Webhooks or stream records are dead letters. Run `{_REDRIVE_STREAMS}` today. {REDRIVE}",
    "DeadMaintenance": f"A deletion, a recount, an expiry or part of a fan-out has failed. {REDRIVE}",
}


def log_groups(functions: Iterable[Function]) -> Resources:
    """Return a log group per function."""
    return {
        f"{_camel_case('api' if function.name == API else function.name)}Log": log_group(function.deployed_name(NAME))
        for function in functions
    }


def log_group(function: str) -> dict[str, Any]:
    """Return a function's log group. Otherwise, Lambda would create a log group without a retention period."""
    properties = {"LogGroupName": {"Fn::Sub": f"/aws/lambda/{function}"}, "RetentionInDays": _LOG_RETENTION_DAYS}
    return {"Type": "AWS::Logs::LogGroup", "Condition": "IsServing", "Properties": properties}


def alarms(functions: Iterable[Function], extensions: Iterable[str] | None = None) -> Resources:
    """Return the alarms. Each alarm notifies the topic `AlarmsTopic` when its state changes."""
    declarations = extension_parts.modules("functions", extensions)
    late = [
        _late_readers(declaration.LATE_ALARM, declaration.FUNCTIONS)
        for declaration in declarations
        if hasattr(declaration, "LATE_ALARM")
    ]
    descriptions = {
        name: text
        for declaration in declarations
        for name, text in getattr(declaration, "DEAD_LETTER_ALARMS", {}).items()
    }
    return {
        **_service_alarms(),
        **_function_alarms(functions),
        **{name: alarm for alarms in late for name, alarm in alarms.items()},
        **_dead_letter_alarms({**_DEAD_LETTERS, **descriptions}),
    }


def _service_alarms() -> Resources:
    stage = {"ApiName": APPLICATION, "Stage": {"Ref": "Stage"}}
    throttled = 'SELECT SUM(ThrottledRequests) FROM SCHEMA("AWS/DynamoDB", TableName, Operation)'
    latency = {
        **_metric("AWS/ApiGateway", "Latency", stage),
        "ExtendedStatistic": "p99",
        "Period": _FIVE_MINUTES,
        "EvaluateLowSampleCountPercentile": "ignore",
    }
    return {
        "ApiFailing": _alarm(
            "ApiFailing",
            f"The API responds to requests with 5xx errors. {_DOC}",
            {**_metric("AWS/ApiGateway", "5XXError", stage), **_SUM},
            threshold=5,
        ),
        "ApiSlow": _alarm(
            "ApiSlow", f"One in 100 requests takes 3 seconds or more. {_DOC}", latency, threshold=_SLOW_MS, periods=3
        ),
        # Metrics without dimensions cover all functions in the region, which share the account's concurrency limit.
        "FunctionsThrottled": _alarm(
            "FunctionsThrottled",
            f"Lambda throttles invocations at the account's concurrency limit. {_DOC}",
            {**_metric("AWS/Lambda", "Throttles"), **_SUM},
            threshold=1,
        ),
        # The query covers all tables in the region, because a query cannot select individual tables. An alarm without a
        # query would need 48 metrics.
        "DatabaseThrottled": _alarm(
            "DatabaseThrottled",
            f"DynamoDB throttles requests. {_DOC}",
            {"Metrics": [{"Id": "throttled", "Expression": throttled, "Period": _FIVE_MINUTES}]},
            threshold=100,
            periods=3,
        ),
        # Only the self-check publishes this metric, so missing data means that the self-check does not run.
        "PartsBroken": _alarm(
            "PartsBroken",
            f"An event source mapping or a key does not work, or the self-check does not run. {_DOC}",
            {**_metric({"Ref": "Name"}, "brokenParts"), "Statistic": "Maximum", "Period": _FIVE_MINUTES},
            threshold=1,
            periods=3,
            missing={"TreatMissingData": "missing", "InsufficientDataActions": [{"Ref": "AlarmsTopic"}]},
        ),
    }


def _function_alarms(functions: Iterable[Function]) -> Resources:
    """Return the alarms on core functions. A failing function also delays its stream."""
    events, deliveries = (
        [function for function in functions if function.name.startswith(prefix)] for prefix in ("fan_out_", "deliver")
    )
    late = [
        _late_readers(alarm, [function for function in functions if function.name.startswith(prefix)])
        for prefix, alarm in _LATE_BY_PREFIX.items()
    ]
    queues = [
        _metric("AWS/SQS", "ApproximateAgeOfOldestMessageInQuietGroups", _queue(queue))
        for queue in ("MaintenanceQueue", "DeliveriesQueue")
    ]
    return {
        **_late(
            "EventsLate",
            "Changes take more than a minute to become events.",
            _metrics(events, "IteratorAge"),
            _FAN_OUT_LATE_MS,
        ),
        **{name: alarm for alarms in late for name, alarm in alarms.items()},
        # Because the queues are fair queues, this metric omits messages from workspaces that cause a backlog.
        **_late("DeliveriesLate", "Webhooks wait for more than five minutes.", queues, _LATE_SECONDS),
        # The alarm covers only function failures. An unreachable receiver is a delivery outcome that the ledger
        # records.
        "DeliveriesFailing": _alarm(
            "DeliveriesFailing",
            f"The functions that deliver webhooks fail. {_DOC}",
            _combined("SUM", "Sum", _metrics(deliveries, "Errors"), _FIVE_MINUTES),
            threshold=5,
        ),
    }


def _dead_letter_alarms(descriptions: Mapping[str, str]) -> Resources:
    """Return an alarm for each dead-letter queue. The queue's logical id is the alarm's name plus `Queue`."""
    metric = "ApproximateNumberOfMessagesVisible"
    return {
        name: _alarm(
            name,
            description,
            {**_metric("AWS/SQS", metric, _queue(f"{name}Queue")), "Statistic": "Maximum", "Period": _MINUTE},
            threshold=1,
        )
        for name, description in descriptions.items()
    }


def _late_readers(alarm: tuple[str, str], functions: Iterable[Function]) -> Resources:
    """Return an alarm on the functions that read a stream, with this name and first sentence."""
    return _late(*alarm, _metrics([function for function in functions if function.stream], "IteratorAge"), _LATE_MS)


def _late(name: str, description: str, metrics: list[dict[str, Any]], threshold: int) -> Resources:
    """Return an alarm that fires after 3 late minutes out of 15. A minute without an invocation has no data point."""
    combined = {**_combined("MAX", "Maximum", metrics, _MINUTE), "DatapointsToAlarm": 3}
    return {name: _alarm(name, f"{description} {_DOC}", combined, threshold=threshold, periods=15)}


def _alarm(
    name: str,
    description: str,
    metric: dict[str, Any],
    *,
    threshold: int,
    periods: int = 1,
    missing: dict[str, Any] | None = None,
) -> dict[str, Any]:
    properties = {
        "AlarmName": {"Fn::Sub": f"{NAME}-{name}"},
        "AlarmDescription": description,
        "AlarmActions": [{"Ref": "AlarmsTopic"}],
        "OKActions": [{"Ref": "AlarmsTopic"}],
        "ComparisonOperator": "GreaterThanOrEqualToThreshold",
        **(missing or {"TreatMissingData": "notBreaching"}),
        **metric,
        "EvaluationPeriods": periods,
        "Threshold": threshold,
    }
    return {"Type": "AWS::CloudWatch::Alarm", "Condition": "IsServing", "Properties": properties}


def _combined(expression: str, statistic: str, metrics: list[dict[str, Any]], period: int) -> dict[str, Any]:
    """Combine several metrics into one value. The expression ignores metrics without data.

    `FILL` would add a value to the newest minute, whose metrics are incomplete, so the alarm could stay in the OK
    state.
    """
    ids = [f"m{number}" for number in range(len(metrics))]
    stats = [{"Metric": metric, "Period": period, "Stat": statistic} for metric in metrics]
    total = {"Id": "total", "Expression": f"{expression}([{','.join(ids)}])"}
    parts = [{"Id": one, "MetricStat": stat, "ReturnData": False} for one, stat in zip(ids, stats, strict=True)]
    return {"Metrics": [total, *parts]}


def _metric(namespace: Any, name: str, dimensions: dict[str, Any] | None = None) -> dict[str, Any]:
    metric: dict[str, Any] = {"Namespace": namespace, "MetricName": name}
    if dimensions:
        metric["Dimensions"] = [{"Name": key, "Value": value} for key, value in dimensions.items()]
    return metric


def _metrics(functions: Iterable[Function], name: str) -> list[dict[str, Any]]:
    """Return a metric for each of these functions."""
    names = [function.deployed_name(NAME) for function in functions]
    return [_metric("AWS/Lambda", name, {"FunctionName": {"Fn::Sub": deployed}}) for deployed in names]


def _queue(logical_id: str) -> dict[str, Any]:
    return {"QueueName": {"Fn::GetAtt": [logical_id, "QueueName"]}}


def _camel_case(name: str) -> str:
    return "".join(map(str.title, name.split("_")))
