"""Parses path and query values. Errors contain the parameter's name, but never its value."""

import re
from urllib.parse import unquote_to_bytes

from chalicelib import errors
from chalicelib.http import current_request, operation
from chalicelib.ids import DOT_SEGMENTS, IDENTIFIER, IDENTIFIER_RULE, SEALED_ID, SEALED_ID_RULE
from chalicelib.storage import Document

# Default and maximum number of records per page. The conversation list has its own page size (`conversations.listing`).
PAGE_SIZE = 20
MAX_PAGE_SIZE = 100
MAX_TEXT = 200
_PAGE = re.compile(r"[1-9][0-9]{0,8}")
_MAX_NUMBER = 999_999_999
_SECONDS = re.compile(r"0|[1-9][0-9]{0,10}")


def identifier(name: str, encoded: str) -> str:
    """Decode a percent-encoded identifier. If it is invalid, raise Invalid with the path `name`."""
    try:
        value = unquote_to_bytes(encoded).decode()
    except UnicodeDecodeError:
        raise errors.Invalid.member(name, f"must be {IDENTIFIER_RULE}") from None
    if not IDENTIFIER.fullmatch(value):
        raise errors.Invalid.member(name, f"must be {IDENTIFIER_RULE}")
    if value in DOT_SEGMENTS:
        raise errors.Invalid.member(name, 'must not be "." or ".."')
    return value


def sealed_id(name: str, encoded: str) -> str:
    """Decode a percent-encoded sealed identifier. Raise Invalid for any other text."""
    value = unquote_to_bytes(encoded).decode(errors="replace")
    if not SEALED_ID.fullmatch(value):
        raise errors.Invalid.member(name, f"must be {SEALED_ID_RULE}")
    return value


def page() -> int:
    """Return the query parameter `page`, from 1 to 999,999,999. The default is 1 (§4.2). Raise Invalid."""
    value = current_request.query_value("page")
    if value is None:
        return 1
    if not _PAGE.fullmatch(value):
        raise errors.Invalid.member("page", "must be a whole number from 1 to 999999999")
    return int(value)


def limit(default: int = PAGE_SIZE, name: str = "limit") -> int:
    """Return the query parameter `limit`, from 1 to 100. Bounded lists cap higher values at 100. Raise Invalid."""
    value = current_request.query_value(name)
    if value is None:
        return default
    maximum = _MAX_NUMBER if operation.current().bounded else MAX_PAGE_SIZE
    if not _PAGE.fullmatch(value) or int(value) > maximum:
        raise errors.Invalid.member(name, f"must be a whole number from 1 to {maximum}")
    return min(int(value), MAX_PAGE_SIZE)


def cursor() -> str | None:
    """Return the list position in the query parameter `cursor`, or None for the beginning. Raise Invalid.

    A position is the sort key of the last item read. It may be any identifier, unless the operation declares another
    pattern.
    """
    value = current_request.query_value("cursor")
    if value and not operation.current().position.fullmatch(value):
        raise errors.Invalid.member("cursor", "must be the nextCursor of an earlier response")
    return value or None


def text(name: str, maximum: int = MAX_TEXT) -> str | None:
    """Return the query parameter `name`, of 1 to `maximum` characters, or None if it is absent. Raise Invalid."""
    value = current_request.query_value(name)
    if value is not None and not 1 <= len(value) <= maximum:
        raise errors.Invalid.member(name, f"must have 1 to {maximum} characters")
    return value


def flag(name: str) -> bool | None:
    """Return the boolean query parameter `name`, or None if it is absent. Raise Invalid."""
    value = current_request.query_value(name)
    if value not in (None, "true", "false"):
        raise errors.Invalid.member(name, "must be true or false")
    return None if value is None else value == "true"


def choice(name: str, values: tuple[str, ...]) -> str | None:
    """Return the query parameter `name`, one of at least two `values`, or None if it is absent. Raise Invalid."""
    value = current_request.query_value(name)
    if value not in (None, *values):
        raise errors.Invalid.member(name, f"must be {', '.join(values[:-1])} or {values[-1]}")
    return value


def seconds(name: str) -> int | None:
    """Return the query parameter `name` as Unix seconds, or None if it is absent. Raise Invalid."""
    value = current_request.query_value(name)
    if value is None:
        return None
    if not _SECONDS.fullmatch(value):
        raise errors.Invalid.member(name, "must be Unix seconds, a whole number from 0 to 99999999999")
    return int(value)


def search_text(name: str) -> str:
    """Return the case-folded query parameter `name` for `contains`, or an empty string if absent. Raise Invalid."""
    return (text(name) or "").casefold()


def optional_search_text(name: str) -> str:
    """Return the query parameter as `search_text` does, which may also be empty. Raise Invalid."""
    return search_text(name) if current_request.query_value(name) else ""


def contains(document: Document, names: tuple[str, ...], text: str) -> bool:
    """Return whether any of these document members contains a case-folded text."""
    return not text or any(text in (document.get(name) or "").casefold() for name in names)
