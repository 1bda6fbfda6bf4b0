"""Saved replies: texts that people insert into a reply to a visitor. They are in the agent's member `savedReplies`.

The API does not know the member, and stores it as sent. Therefore, it may contain any JSON value, and callers that may
not read secrets cannot read it. The console reads and writes a list of texts, and of objects `{name, text}`.
"""

import hashlib
from itertools import chain
from typing import Any, NamedTuple

from chalicelib import storage
from chalicelib.agents import store as agents
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.presentation import template_filters

MEMBER = "savedReplies"
"""The member of an agent that contains its saved replies."""
# The maximum size of all replies as HTML, the bytes of the tags around a reply, and the maximum number of replies.
MAX_BYTES, _REPLY_BYTES, MAX_REPLIES = 100_000, 250, 200


class SavedReply(NamedTuple):
    """A saved reply. Its name may be empty."""

    name: str
    text: str

    @property
    def value(self) -> Any:
        """The reply in the agent's member: a text, or an object if the reply has a name."""
        return self._asdict() if self.name else self.text


class StoredReplies(NamedTuple):
    """An agent's saved replies, or None if the console does not show them.

    `tag` changes with the replies, and not with the agent's other members. `agent_tag` is the agent's entity tag.
    """

    replies: list[SavedReply] | None
    tag: str
    agent_tag: str


def parse(value: Any) -> list[SavedReply] | None:
    """Return the saved replies in an agent's member, or None if the console does not show them."""
    entries = [_entry(one) for one in value] if isinstance(value, list) else [None]
    replies = [entry for entry in entries if entry is not None]
    return replies if len(replies) == len(entries) and fit(replies) else None


def fit(replies: list[SavedReply]) -> bool:
    """Return whether the console shows so many and large replies."""
    return len(replies) <= MAX_REPLIES and size(replies) <= MAX_BYTES


def _entry(value: Any) -> SavedReply | None:
    if isinstance(value, str):
        return SavedReply("", value)
    if not isinstance(value, dict) or value.keys() != {*SavedReply._fields}:
        return None
    return SavedReply(**value) if all(isinstance(text, str) for text in value.values()) else None


def size(replies: list[SavedReply]) -> int:
    """Return the size of replies as HTML, in bytes."""
    return _REPLY_BYTES * len(replies) + sum(map(template_filters.size, chain(*replies)))


def read(session: Session, agent_id: str) -> StoredReplies:
    """Return an agent's saved replies. This costs one request."""
    return read_many(session, [agent_id])[agent_id]


def read_many(session: Session, agent_ids: list[str]) -> dict[str, StoredReplies]:
    """Return the saved replies of several agents, at most 100, by agent id. This costs one request."""
    rows = storage.find_many([agents.key(session.workspace_id, agent_id) for agent_id in agent_ids])
    return {agent_id: _of_row(row) for agent_id, row in zip(agent_ids, rows, strict=True)}


def _of_row(row: agents.AgentRow | None) -> StoredReplies:
    value = row.open().get(MEMBER) if row else None
    tag = hashlib.sha256(storage.encode_json(value)).hexdigest()
    return StoredReplies([] if value is None else parse(value), tag, f'"{row.version_tag}"' if row else "")
