"""The filters of the lists of conversations, from the query of a request."""

import re
from typing import NamedTuple

from chalicelib import errors, ids
from chalicelib.conversations.rows import ConversationRow
from chalicelib.http import exchange
from chalicelib.storage import Document

NAMES = ("from", "to", "state", "tag", "origin", "assignedTo", "userID", "activeSince", "q")
MAX_TEXT = 200
_SEARCHED = ("userName", "userEmail", "userPhone", "title", "lastMessage")
_SECONDS = re.compile(r"0|[1-9][0-9]{0,10}")


class Filters(NamedTuple):
    """What a listed conversation has in common.

    It was created from `since` on and before `until`, and was active from `active_since` on; all in Unix seconds, None
    is no bound. `equal` maps members of the metadata to their values. `text` is case-folded.
    """

    since: int | None
    until: int | None
    equal: dict[str, str]
    tag: str | None
    active_since: int
    text: str

    def match(self, row: ConversationRow, metadata: Document) -> bool:
        """Whether a conversation with this row and metadata is listed."""
        created = ids.timestamp_of(row.created)
        return (
            (self.since is None or created >= self.since * 1000)
            and (self.until is None or created < self.until * 1000)
            and all(metadata.get(name) == value for name, value in self.equal.items())
            and (self.tag is None or self.tag in (metadata.get("tags") or ()))
            and metadata["lastModified"] >= self.active_since
            and (not self.text or any(self.text in metadata.get(name, "").casefold() for name in _SEARCHED))
        )


def requested() -> Filters:
    """The filters in the query of the request; those that it does not have match everything. Raises Invalid."""
    members = {"state": "state", "origin": "origin", "assignedTo": "chatAssignedTo", "userID": "userID"}
    given = {member: _text(name) for name, member in members.items()}
    equal = {member: value for member, value in given.items() if value is not None}
    active, text = _seconds("activeSince") or 0, (_text("q") or "").casefold()
    return Filters(_seconds("from"), _seconds("to"), equal, _text("tag"), active, text)


def is_inbox() -> bool:
    """Whether the query has `inbox=true`. Raises Invalid for a value other than true and false."""
    value = exchange.query_value("inbox")
    if value not in (None, "true", "false"):
        raise errors.Invalid.member("inbox", "must be true or false")
    return value == "true"


def _seconds(name: str) -> int | None:
    """The query parameter `name` as Unix seconds, None without it. Raises Invalid."""
    value = exchange.query_value(name)
    if value is None:
        return None
    if not _SECONDS.fullmatch(value):
        raise errors.Invalid.member(name, "must be Unix seconds, a whole number from 0 to 99999999999")
    return int(value)


def _text(name: str) -> str | None:
    value = exchange.query_value(name)
    if value is not None and not 1 <= len(value) <= MAX_TEXT:
        raise errors.Invalid.member(name, f"must have 1 to {MAX_TEXT} characters")
    return value
