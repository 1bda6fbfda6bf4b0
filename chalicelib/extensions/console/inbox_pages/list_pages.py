"""The pages of the tab All: the query of the next and the newer page, and how many conversations the pages list."""

from typing import Any

from chalicelib import ids
from chalicelib.extensions.console.inbox_pages.all_conversations import ConversationPage
from chalicelib.storage import Document

NAMES = ("cursor", "newer", "found")
"""The query parameters of a page: where it begins, where the pages between it and the first one begin, and how many
conversations the earlier pages list, as a total after each page."""
FIRST: dict[str, Any] = dict.fromkeys(NAMES)
"""The query of the first page."""
_MAX_NEWER = 20  # the maximum number of earlier pages to which a page can lead back
_MAX_DIGITS = 6


def next_page(query: Document, page: ConversationPage) -> Document:
    """Return the query of the page after this one."""
    newer = [*_cursors(query), *([query["cursor"]] if query["cursor"] else [])]
    return _query(page.following, newer, [*_totals(query), found_before(query) + len(page.conversations)])


def newer_page(query: Document) -> Document:
    """Return the query of the page before this one, which may be the first page."""
    *newer, cursor = ["", *_cursors(query)]
    return _query(cursor, newer[1:], _totals(query)[:-1])


def found_before(query: Document) -> int:
    """Return how many conversations the earlier pages list."""
    return [0, *_totals(query)][-1]


def _query(cursor: str | None, newer: list[str], totals: list[int]) -> Document:
    return {
        "cursor": cursor,
        "newer": ".".join(newer[-_MAX_NEWER:]),
        "found": ".".join(map(str, totals[-_MAX_NEWER:])),
    }


def _cursors(query: Document) -> list[str]:
    return [one for one in (query["newer"] or "").split(".") if ids.ULID.fullmatch(one)]


def _totals(query: Document) -> list[int]:
    texts = (query["found"] or "").split(".")
    return [int(one) for one in texts if one.isascii() and one.isdecimal() and len(one) <= _MAX_DIGITS]
