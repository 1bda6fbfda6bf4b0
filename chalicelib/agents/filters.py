"""The filters and the order of the list of agents, from the query of a request."""

from typing import NamedTuple

from chalicelib import errors, ids
from chalicelib.http import current_request, parameters
from chalicelib.storage import Document

NAMES = ("q", "starred", "deployed", "sort")
# The values of `sort`. An index needs its order in clear text, so there is no order by a sealed member.
ORDERS = ("lastModified",)
_SEARCHED = ("title", "description")


class AgentFilters(NamedTuple):
    """What the listed agents have in common: members that are set or not, and a case-folded text."""

    flags: dict[str, bool]
    text: str

    @classmethod
    def from_request(cls) -> "AgentFilters":
        """Return the filters of the query. A filter that it omits matches every agent. Raise Invalid."""
        flags = {name: value for name in ("starred", "deployed") if (value := parameters.flag(name)) is not None}
        return cls(flags, parameters.search_text("q"))

    @property
    def is_empty(self) -> bool:
        """Whether every agent matches."""
        return not self.flags and not self.text

    def match(self, summary: Document) -> bool:
        """Return whether the agent with this summary is listed."""
        return all(bool(summary.get(name)) == value for name, value in self.flags.items()) and (
            parameters.contains(summary, _SEARCHED, self.text)
        )


def is_sorted() -> bool:
    """Return whether the query has `sort=lastModified`. Raise Invalid for another value."""
    value = current_request.query_value("sort")
    if value is not None and value not in ORDERS:
        raise errors.Invalid.member("sort", f"must be {ORDERS[0]}")
    return value is not None


def version_tag() -> str | None:
    """Return the query parameter `cursor` of a sorted list, None for the beginning. Raise Invalid."""
    cursor = parameters.cursor()
    if cursor and not ids.ULID.fullmatch(cursor):
        raise errors.Invalid.member("cursor", "must be the nextCursor of an earlier response with the same sort")
    return cursor
