"""The query parameters with which lists are searched: times, flags and texts."""

import re

from chalicelib import errors
from chalicelib.http import current_request
from chalicelib.storage import Document

MAX_TEXT = 200
_SECONDS = re.compile(r"0|[1-9][0-9]{0,10}")


def text(name: str) -> str | None:
    """The query parameter `name`, 1 to 200 characters; None without it. Raises Invalid."""
    value = current_request.query_value(name)
    if value is not None and not 1 <= len(value) <= MAX_TEXT:
        raise errors.Invalid.member(name, f"must have 1 to {MAX_TEXT} characters")
    return value


def flag(name: str) -> bool | None:
    """The query parameter `name`, true or false; None without it. Raises Invalid."""
    value = current_request.query_value(name)
    if value not in (None, "true", "false"):
        raise errors.Invalid.member(name, "must be true or false")
    return None if value is None else value == "true"


def seconds(name: str) -> int | None:
    """The query parameter `name` as Unix seconds, None without it. Raises Invalid."""
    value = current_request.query_value(name)
    if value is None:
        return None
    if not _SECONDS.fullmatch(value):
        raise errors.Invalid.member(name, "must be Unix seconds, a whole number from 0 to 99999999999")
    return int(value)


def folded(name: str) -> str:
    """The query parameter `name` without case, for `contains`; empty without it. Raises Invalid as `text` does."""
    return (text(name) or "").casefold()


def contains(document: Document, names: tuple[str, ...], text: str) -> bool:
    """Whether one of these members of a document contains a text, which is `folded`."""
    return not text or any(text in (document.get(name) or "").casefold() for name in names)
