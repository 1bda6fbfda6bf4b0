"""What a test looks at beside an answer's data: the one shape of an error, every stored byte, every log line."""

import json
import logging
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from chalicelib import storage, telemetry
from tests.api import Answer

# The code of each status; a conflict may name another cause.
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
    """Assert the canonical error with this status, and issues for exactly these `paths`; returns its message.

    The interaction route adds `appError`, and `platformName` where the agent is known (§4.3).
    """
    assert answer.status == status, answer.text
    assert answer.headers["content-type"] == "application/json"
    error = dict(answer.json)
    added = {name: error.pop(name) for name in ("appError", "platformName") if name in error}
    expected = {"appError": error["message"], **({"platformName": platform} if platform else {})}
    assert added == (expected if interaction else {})
    issues = error.pop("issues", [])
    assert ("limit" in error) == (status == 429), "which limit, and how much of it is used and left"
    error.pop("limit", None)
    assert error == {"success": False, "message": error["message"], "code": code or CODES[status]}
    assert error["message"].endswith(".")
    assert ("issues" in answer.json) == bool(issues), "an empty list of issues"
    assert len(issues) <= _MOST_ISSUES
    assert [issue["path"] for issue in issues] == list(paths)
    for issue in issues:
        assert issue.keys() == {"path", "message"}
        assert re.match(r"(must|is|has|stands) ", issue["message"]), "a rule that follows the member's name"
    if issues:
        assert error["message"] == f"{issues[0]['path'] or 'The body'} {issues[0]['message']}."
    return str(error["message"])


def stored() -> dict[str, list[dict[str, Any]]]:
    """Every item of every table as the engine holds it, in an order that does not depend on it."""
    dynamodb = storage.sdk_client("dynamodb")
    tables: dict[str, list[dict[str, Any]]] = {}
    for name in dynamodb.list_tables()["TableNames"]:
        pages = dynamodb.get_paginator("scan").paginate(TableName=name)
        tables[name] = sorted((item for page in pages for item in page["Items"]), key=repr)
    return tables


def canonical(value: Any) -> str:
    """Text that differs where JSON does: 3 and 3.0, 1 and true, absent and null."""
    return json.dumps(value, sort_keys=True, ensure_ascii=False, allow_nan=False)


class Log(logging.Handler):
    """Every log line of the process as it would be written, tracebacks included."""

    def __init__(self) -> None:
        super().__init__(logging.DEBUG)
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.name} {self.format(record)}")

    @property
    def text(self) -> str:
        """All lines."""
        return "\n".join(self.lines)


@contextmanager
def logged(level: int = logging.DEBUG) -> Iterator[Log]:
    """The log of the block, with every logger at `level` that has no level of its own.

    Ours and Chalice's do not pass their lines on to the root logger, so that the handler is put at each.
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
