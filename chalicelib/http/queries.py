"""The values of query parameters that several lists have."""

import re

from chalicelib import errors
from chalicelib.http import exchange

MAX_TEXT = 200
_SECONDS = re.compile(r"0|[1-9][0-9]{0,10}")


def text(name: str) -> str | None:
    """The query parameter `name`, 1 to 200 characters; None without it. Raises Invalid."""
    value = exchange.query_value(name)
    if value is not None and not 1 <= len(value) <= MAX_TEXT:
        raise errors.Invalid.member(name, f"must have 1 to {MAX_TEXT} characters")
    return value


def flag(name: str) -> bool | None:
    """The query parameter `name`, true or false; None without it. Raises Invalid."""
    value = exchange.query_value(name)
    if value not in (None, "true", "false"):
        raise errors.Invalid.member(name, "must be true or false")
    return None if value is None else value == "true"


def seconds(name: str) -> int | None:
    """The query parameter `name` as Unix seconds, None without it. Raises Invalid."""
    value = exchange.query_value(name)
    if value is None:
        return None
    if not _SECONDS.fullmatch(value):
        raise errors.Invalid.member(name, "must be Unix seconds, a whole number from 0 to 99999999999")
    return int(value)
