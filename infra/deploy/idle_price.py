"""The price of an idle stage per month in dollars, at the list prices of us-east-1 as of 2025."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from infra.deploy import template
from infra.deploy.functions import declared_functions

# Dollars for a key, a metric of an alarm and a custom metric a month, and for a request to a queue.
KEY, ALARM_METRIC, CUSTOM_METRIC, _QUEUE_REQUEST = 1.00, 0.10, 0.30, 0.40 / 1e6
# Lambda reads an idle queue with five connections, each of which waits for 20 seconds.
_POLLERS, _SECONDS_OF_POLL, _SECONDS_OF_MONTH = 5, 20, 30 * 24 * 60 * 60
_POLLING = _POLLERS * _SECONDS_OF_MONTH / _SECONDS_OF_POLL * _QUEUE_REQUEST


class IdlePrice(NamedTuple):
    """The numbers of those resources of a stage that cost money even when idle."""

    keys: int
    alarms: int
    metrics: int
    queues: int

    @property
    def polling(self) -> float:
        """The dollars for Lambda's requests to empty queues."""
        return self.queues * _POLLING

    @property
    def dollars(self) -> float:
        """The sum. The check of the stage has one custom metric."""
        return self.keys * KEY + self.metrics * ALARM_METRIC + CUSTOM_METRIC + self.polling


def of_stage(extensions: Collection[str] | None = None) -> IdlePrice:
    """Return the price of core with these extensions, by default with all that are present."""
    alarms = template.declared("AWS::CloudWatch::Alarm", extensions)
    return IdlePrice(
        keys=len(template.key_ids(extensions)),
        alarms=len(alarms),
        metrics=sum(len(metrics(alarm)) for alarm in alarms),
        queues=sum(function.queue is not None for function in declared_functions(extensions)),
    )


def metrics(alarm: dict[str, Any]) -> list[dict[str, Any]]:
    """Return an alarm's metrics, or its query."""
    if "Metrics" not in alarm:
        return [alarm]
    return [part["MetricStat"]["Metric"] for part in alarm["Metrics"] if "MetricStat" in part] or alarm["Metrics"]
