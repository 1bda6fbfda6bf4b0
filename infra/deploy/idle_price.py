"""An idle stage's monthly price in dollars, at the us-east-1 list prices of 2025."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, NamedTuple

from infra.deploy import template
from infra.deploy.functions import declared_functions

# Dollars per month for a key, an alarm metric and a custom metric, and dollars per queue request.
KEY, ALARM_METRIC, CUSTOM_METRIC, _QUEUE_REQUEST = 1.00, 0.10, 0.30, 0.40 / 1e6
# Lambda polls an idle queue with five connections, and each poll waits for 20 seconds.
_POLLERS, _SECONDS_OF_POLL, _SECONDS_OF_MONTH = 5, 20, 30 * 24 * 60 * 60
_POLLING = _POLLERS * _SECONDS_OF_MONTH / _SECONDS_OF_POLL * _QUEUE_REQUEST


class IdlePrice(NamedTuple):
    """The counts of stage resources that cost money even when they are idle."""

    keys: int
    alarms: int
    metrics: int
    queues: int

    @property
    def polling(self) -> float:
        """The price of Lambda's requests to empty queues, in dollars."""
        return self.queues * _POLLING

    @property
    def dollars(self) -> float:
        """The total price in dollars. The stage's self-check publishes one custom metric."""
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
