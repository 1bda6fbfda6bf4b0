"""Logs and metrics: one JSON line per request, delivery or error.

Lines contain only names, counts, times and ids that the service generated. They never contain path values, bodies,
tokens or secrets. A line with numbers is also a metric in CloudWatch's embedded metric format
(https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html).
"""

import json
import logging
import sys
import traceback
from collections.abc import Callable
from contextvars import ContextVar
from functools import lru_cache
from typing import Any, TextIO

from chalice.app import BaseLambdaEvent, Request, Response

from chalicelib import clock, errors, settings
from chalicelib.storage import client

_HEADER = "X-Request-Id"
# The loggers of this package and of the Chalice app, which logs exceptions from views.
_CHALICE = "cams"
LOGGERS = ("chalicelib", _CHALICE)
# The encoder writes ASCII, which is valid in every output encoding. One shared encoder avoids the setup cost for each
# line.
_ENCODER = json.JSONEncoder(check_circular=False, separators=(",", ":"))

_request_id: ContextVar[str | None] = ContextVar("request_id", default=None)


def _line(level: str, members: dict[str, Any]) -> str:
    """Return a JSON object with the level, the request id and `members`. Members that are None are omitted."""
    line = {"level": level, "requestId": _request_id.get(), **members}
    return _ENCODER.encode({name: value for name, value in line.items() if value is not None})


def _describe(error: BaseException) -> str:
    """Return the tracebacks of an error and its causes without the messages, which may contain request values."""
    chain: list[BaseException] = []
    cause: BaseException | None = error
    while cause and cause not in chain:  # the chain of causes may contain a cycle
        chain.append(cause)
        cause = cause.__cause__ or (None if cause.__suppress_context__ else cause.__context__)
    return "\n\nwhich led to:\n\n".join(map(_describe_one, reversed(chain)))


def _describe_one(error: BaseException) -> str:
    # API error messages and SDK error codes contain no request values.
    reason = error.message if isinstance(error, errors.ApiError) else _error_code(error)
    return f"{''.join(traceback.format_tb(error.__traceback__))}{type(error).__name__} {reason}".rstrip()


def _error_code(error: BaseException) -> str:
    response = getattr(error, "response", None)
    return str(response.get("Error", {}).get("Code", "")) if isinstance(response, dict) else ""


class _JsonFormatter(logging.Formatter):
    """Formats a log record as one JSON object."""

    def format(self, record: logging.LogRecord) -> str:
        error = record.exc_info[1] if record.exc_info else None
        # The only message that Chalice logs contains the request path.
        message = "A view failed" if record.name == _CHALICE else record.getMessage()
        members = {"logger": record.name, "message": message, "exception": _describe(error) if error else None}
        return _line(record.levelname, members)


class _StdoutHandler(logging.StreamHandler[TextIO]):
    """A log handler that looks up `sys.stdout` for each line, because the Lambda runtime or a test may replace it."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)
        self.setFormatter(_JsonFormatter())

    @property
    def stream(self) -> TextIO:  # type: ignore[override]
        return sys.stdout


_handler = _StdoutHandler()
for _name in LOGGERS:
    logging.getLogger(_name).addHandler(_handler)
    # Otherwise, the Lambda runtime's root log handler would print the line again as text.
    logging.getLogger(_name).propagate = False
_log = logging.getLogger(__name__)
_log.setLevel(logging.INFO)


def log_request(request: Request, get_response: Callable[[Request], Response]) -> Response:
    """Log a request with its cost, and return the request id in a response header (middleware).

    `route` is the path pattern, because an id in the path may be an email. `tool` is the tool that an assistant called.
    Capacity is in DynamoDB units.
    """
    # API Gateway's request id, which also appears in the gateway's own log and header. Without API Gateway, this is the
    # invocation id.
    request_id = request.context.get("requestId") or getattr(request.lambda_context, "aws_request_id", None)
    start = clock.monotonic()
    set_request_id(request_id)
    with client.metered() as meter:
        response = get_response(request)
    if request_id:
        response.headers[_HEADER] = request_id
    log_metrics(
        {"durationMs": "Milliseconds", "readUnits": "Count", "writeUnits": "Count"},
        method=request.method,
        route=request.context.get("resourcePath"),
        tool=request.context.get("tool"),
        workspace=request.context.get("workspaceId"),
        status=response.status_code,
        durationMs=round((clock.monotonic() - start) * 1000),
        requests=meter.requests,
        readUnits=meter.units["read"],
        writeUnits=meter.units["write"],
    )
    return response


def begin_invocation(event: BaseLambdaEvent) -> None:
    """Include an event function's invocation id in all following lines."""
    set_request_id(getattr(event.context, "aws_request_id", None))


def set_request_id(request_id: str | None) -> None:
    """Include this request or invocation id in all following lines, or no id if it is None."""
    _request_id.set(request_id)


def log_metrics(metrics: dict[str, str], **members: Any) -> None:
    """Log one line with these members. `metrics` contains the names and units of the members that are also metrics."""
    if not _log.isEnabledFor(logging.INFO):
        return
    declared = _declare_metrics(settings.table_prefix(), tuple(metrics.items()))
    described = f'{{"_aws":{{"Timestamp":{clock.milliseconds()},"CloudWatchMetrics":{declared}}},'
    # The line bypasses the logger, which would take more time than all other steps together. Each line is written in a
    # single call, because lines from parallel deliveries would otherwise interleave.
    sys.stdout.write(f"{described}{_line('INFO', members)[1:]}\n")
    sys.stdout.flush()


@lru_cache
def _declare_metrics(prefix: str, metrics: tuple[tuple[str, str], ...]) -> str:
    """Return the declaration of these metrics as JSON. It is the same in every line, so it is encoded only once."""
    definitions = [{"Name": name, "Unit": unit} for name, unit in metrics]
    # Each stage has its own namespace, such as `cams-prod`, so that its alarms ignore other stages' metrics. Metrics
    # have no dimensions, because one metric per route or workspace would cost more than the requests.
    return _ENCODER.encode([{"Namespace": prefix.removesuffix("-"), "Dimensions": [[]], "Metrics": definitions}])
