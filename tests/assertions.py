"""Helpers that check error envelopes, stored items and log lines."""

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from chalicelib import telemetry
from tests import moto_tables
from tests.api import Answer

# HTTP status -> its default error code.
CODES = {
    400: "INVALID",
    401: "UNAUTHORIZED",
    403: "FORBIDDEN",
    404: "NOT_FOUND",
    405: "METHOD_NOT_ALLOWED",
    409: "STALE",
    412: "PRECONDITION_FAILED",
    413: "TOO_LARGE",
    415: "UNSUPPORTED_MEDIA_TYPE",
    429: "LIMIT_REACHED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
_MOST_ISSUES = 20


def refused(
    answer: Answer,
    status: int,
    *paths: str,
    interaction: bool = False,
    platform: str | None = None,
    code: str | None = None,
) -> str:
    """Assert an error response with this status and one issue per path; return the error message.

    Interaction routes add `appError`, plus `platformName` if the agent is known (§4.3).
    """
    assert answer.status == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    error = dict(answer.json)
    added = {name: error.pop(name) for name in ("appError", "platformName") if name in error}
    expected = {"appError": error["message"], **({"platformName": platform} if platform else {})}
    assert added == (expected if interaction else {})
    issues = error.pop("issues", [])
    in_openai_format = error.pop("error", None)
    if in_openai_format:
        param, kind = next(iter(paths), None), "server_error" if status >= 500 else "invalid_request_error"
        assert in_openai_format == {"message": error["message"], "type": kind, "param": param, "code": error["code"]}
    assert ("limit" in error) == (status == 429), "only a 429 contains the limit, the usage and the remainder"
    error.pop("limit", None)
    assert error == {"success": False, "message": error["message"], "code": code or CODES[status]}
    assert error["message"].endswith(".")
    assert ("issues" in answer.json) == bool(issues), "an empty issue list is omitted"
    assert len(issues) <= _MOST_ISSUES
    assert [issue["path"] for issue in issues] == list(paths)
    for issue in issues:
        assert issue.keys() == {"path", "message"}
        assert re.match(r"(must|is|has) ", issue["message"]), "the message must follow the member's name"
    if issues:
        assert error["message"] == f"{issues[0]['path'] or 'The body'} {issues[0]['message']}."
    return str(error["message"])


def stored() -> dict[str, list[dict[str, Any]]]:
    """Return every item of every table, sorted, from moto's memory."""
    return {name: sorted(items, key=repr) for name, items in moto_tables.items().items()}


def canonical(value: Any) -> str:
    """Return canonical JSON, which distinguishes 3 from 3.0, 1 from true, and absent from null."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)


class Log(logging.Handler):
    """A log handler that captures every formatted line of the process, including tracebacks."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.name} {self.format(record)}")

    @property
    def text(self) -> str:
        """Return all captured lines."""
        return "\n".join(self.lines)


@contextmanager
def logged(level: int = logging.DEBUG) -> Iterator[Log]:
    """Capture the log inside the block. `level` applies to loggers without a level of their own.

    The loggers of CAMS and Chalice do not propagate to the root logger, so the handler is added to each of them.
    """
    handler, root = Log(), logging.getLogger()
    before = {logger: logger.level for logger in (root, *map(logging.getLogger, telemetry.LOGGERS))}
    for logger in before:
        logger.addHandler(handler)
        logger.setLevel(level)
    try:
        yield handler
    finally:
        for logger, own in before.items():
            logger.removeHandler(handler)
            logger.setLevel(own)
