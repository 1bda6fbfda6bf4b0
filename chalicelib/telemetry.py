"""What the service says about itself: one JSON line for each request and delivery, and one for each error.

Names, ids, counts and times only: no body, no token, no secret. A line of numbers is a metric at the same
time, in the embedded format that the cloud's log service reads
(https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html).
"""

import json
import logging
import sys
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, TextIO

from chalice.app import BaseLambdaEvent, Request, Response

from chalicelib import clock, settings
from chalicelib.storage import client

_HEADER = "X-Request-Id"
_MEMBERS = "members"
# Ours, and Chalice's own by the name of the app: it says what a view has raised.
LOGGERS = ("chalicelib", "cams")

_request_id: ContextVar[str | None] = ContextVar("request_id", default=None)


class _Line(logging.Formatter):
    """A log record as one JSON object; with what `log_metrics` was given, where it comes from there."""

    def format(self, record: logging.LogRecord) -> str:
        line: dict[str, Any] = {"level": record.levelname, "requestId": _request_id.get()}
        line |= getattr(record, _MEMBERS, {"logger": record.name, "message": record.getMessage()})
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps({name: value for name, value in line.items() if value is not None}, ensure_ascii=False)


class _Output(logging.StreamHandler[TextIO]):
    """What the process prints; looked up for each line, as whoever runs the process may have replaced it."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)
        self.setFormatter(_Line())

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        return sys.stdout


_output = _Output()
for _name in LOGGERS:
    logging.getLogger(_name).addHandler(_output)
    # A function's runtime prints what reaches the root once more, as text.
    logging.getLogger(_name).propagate = False
_log = logging.getLogger(__name__)
_log.setLevel(logging.INFO)


def measured(request: Request, get_response: Callable[[Request], Response]) -> Response:
    """Outermost middleware: every answer carries the request's id, and a line says what was asked and what it took.

    `route` is the pattern and not the path: an id in it may be somebody's email. Capacity is in DynamoDB's units.
    """
    # The gateway's id, which its own log and header have; where nobody gave one, that of the invocation.
    request_id = request.context.get("requestId") or getattr(request.lambda_context, "aws_request_id", None)
    start = clock.monotonic()
    begin(request_id)
    with client.metered() as meter, client.request_deadline():
        response = get_response(request)
    if request_id:
        response.headers[_HEADER] = request_id
    log_metrics(
        {"durationMs": "Milliseconds", "readUnits": "Count", "writeUnits": "Count"},
        method=request.method,
        route=request.context.get("resourcePath"),
        workspace=request.context.get("workspaceId"),
        status=response.status_code,
        durationMs=round((clock.monotonic() - start) * 1000),
        requests=meter.requests,
        readUnits=meter.units["read"],
        writeUnits=meter.units["write"],
    )
    return response


def of_function(event: BaseLambdaEvent) -> None:
    """From here on lines are of this invocation of an event function."""
    begin(getattr(event.context, "aws_request_id", None))


def begin(request_id: str | None) -> None:
    """From here on lines are of the request, or of the invocation, with this id."""
    _request_id.set(request_id)


def log_metrics(metrics: dict[str, str], **members: Any) -> None:
    """Log one line of members; those that `metrics` names, each with its unit, are metrics at the same time."""
    about = [{"Name": name, "Unit": unit} for name, unit in metrics.items()]
    # The namespace is the deployment's, such as `cams-prod`: an alarm of one stage must not hear of another.
    # No dimension: a metric for each route or workspace would cost more than the requests.
    sets = [{"Namespace": settings.table_prefix().removesuffix("-"), "Dimensions": [[]], "Metrics": about}]
    _log.info("", extra={_MEMBERS: {"_aws": {"Timestamp": clock.milliseconds(), "CloudWatchMetrics": sets}, **members}})
