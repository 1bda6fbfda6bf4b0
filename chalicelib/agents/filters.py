"""The filters and the order of the list of agents, from the query of a request."""

import base64
import binascii
import json
import re
from collections.abc import Callable
from typing import Any, NamedTuple

from chalicelib import errors
from chalicelib.http import exchange, queries
from chalicelib.storage import Document, encode_json

NAMES = ("q", "starred", "deployed", "sort")
POSITION = re.compile(r"[A-Za-z0-9_-]{1,2000}")
_SEARCHED = ("title", "description")
_MAX_KEY = 200  # characters of a title, which bound a cursor
_POSITION_RULE = "must be the nextCursor of an earlier response with the same sort"

# By the value of `sort`: the value in a summary by which the agents are sorted, ascending.
ORDERS: dict[str, Callable[[Document], str | int]] = {
    "title": lambda summary: (summary.get("title") or "").casefold()[:_MAX_KEY],
    "lastModified": lambda summary: -summary["lastModified"],
    # An agent that was not saved since its summary has this member counts as created by its last change.
    "created": lambda summary: -int(summary.get("createdAtUNIX") or summary["lastModified"]),
}


class Filters(NamedTuple):
    """What the listed agents have in common: members that are set or not, and a case-folded text."""

    flags: dict[str, bool]
    text: str

    @property
    def is_empty(self) -> bool:
        """Whether every agent matches."""
        return not self.flags and not self.text

    def match(self, summary: Document) -> bool:
        """Whether the agent with this summary is listed."""
        return all(bool(summary.get(name)) == value for name, value in self.flags.items()) and (
            queries.contains(summary, _SEARCHED, self.text)
        )


class Position(NamedTuple):
    """A place in a sorted list: the value that is sorted by, and the id."""

    value: str | int
    agent_id: str


def requested() -> Filters:
    """The filters in the query of the request; those that it does not have match everything. Raises Invalid."""
    flags = {name: value for name in ("starred", "deployed") if (value := queries.flag(name)) is not None}
    return Filters(flags, queries.folded("q"))


def requested_order() -> str | None:
    """The query parameter `sort`, None without it. Raises Invalid."""
    value = exchange.query_value("sort")
    if value is not None and value not in ORDERS:
        raise errors.Invalid.member("sort", f"must be one of {', '.join(ORDERS)}")
    return value


def requested_position(sort: str) -> Position | None:
    """The query parameter `cursor` of a list in this order; None for the beginning. Raises Invalid."""
    cursor = exchange.query_value("cursor")
    if not cursor:
        return None
    match _parse(cursor):
        case [order, value, str(agent_id)] if order == sort and type(value) is (str if sort == "title" else int):
            return Position(value, agent_id)
    raise errors.Invalid.member("cursor", _POSITION_RULE)


def cursor_of(sort: str, position: Position) -> str:
    """The cursor that continues after a position of a list in this order."""
    return base64.urlsafe_b64encode(encode_json([sort, *position])).decode().rstrip("=")


def _parse(cursor: str) -> Any:
    if not POSITION.fullmatch(cursor):
        return None
    try:
        return json.loads(base64.urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return None
