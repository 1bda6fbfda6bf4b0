"""Filters for conversation lists, read from the query string."""

from typing import NamedTuple

from chalicelib import errors, ids
from chalicelib.conversations.rows import ConversationRow
from chalicelib.http import parameters
from chalicelib.storage import Document

NAMES = ("from", "to", "state", "tag", "label", "origin", "assignedTo", "userID", "activeSince", "q")
MAX_LABEL = 64 + len(":") + 512  # the limits in the wire models
_SEARCHED_MEMBERS = ("userName", "userEmail", "userPhone", "title", "lastMessage")


class Filters(NamedTuple):
    """Conditions that every listed conversation satisfies.

    Each was created at or after `since` and before `until`, and was last active at or after `active_since`. All times
    are Unix seconds; None means unbounded. `equal` maps metadata members to required values. `label` is a label's name
    and value, separated by a colon. `text` is case-folded.
    """

    since: int | None
    until: int | None
    equal: dict[str, str]
    tag: str | None
    label: str | None
    active_since: int
    text: str

    @classmethod
    def from_request(cls) -> "Filters":
        """Return the filters from the request's query string. A missing filter matches every conversation."""
        members = {"state": "state", "origin": "origin", "assignedTo": "chatAssignedTo", "userID": "userID"}
        values = {member: parameters.text(name) for name, member in members.items()}
        equal = {member: value for member, value in values.items() if value is not None}
        active, text = parameters.seconds("activeSince") or 0, parameters.search_text("q")
        label = parameters.text("label", MAX_LABEL)
        if label is not None and ":" not in label:
            raise errors.Invalid.member("label", "must be a name and a value, separated by a colon")
        tag = parameters.text("tag")
        return cls(parameters.seconds("from"), parameters.seconds("to"), equal, tag, label, active, text)

    def match(self, row: ConversationRow, metadata: Document) -> bool:
        """Return whether a conversation with this row and metadata satisfies the filters."""
        created = ids.timestamp_of(row.created)
        return (
            (self.since is None or created >= self.since * 1000)
            and (self.until is None or created < self.until * 1000)
            and all(metadata.get(name) == value for name, value in self.equal.items())
            and (self.tag is None or self.tag in (metadata.get("tags") or ()))
            and (self.label is None or self.label in map(":".join, (metadata.get("labels") or {}).items()))
            and metadata["lastModified"] >= self.active_since
            and parameters.contains(metadata, _SEARCHED_MEMBERS, self.text)
        )
