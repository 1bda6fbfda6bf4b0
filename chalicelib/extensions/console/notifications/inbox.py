"""Finds the conversations that are waiting for a person, for the list in an email."""

import logging
from collections.abc import Collection
from typing import NamedTuple

from chalicelib.agents import store as agents
from chalicelib.conversations import filtered_lists, store
from chalicelib.conversations.rows import ConversationRow
from chalicelib.extensions.console.presentation.trial_marks import is_trial
from chalicelib.storage import Document, encryption, find_many, split_key

MAX_LISTED = 20
# The maximum number of inbox entries that a search examines to find conversations of the person's agents.
_MAX_EXAMINED = 2_000
_PORTION = 100
_WAITING_STATE = "requested_chat"
_log = logging.getLogger(__name__)


class WaitingConversation(NamedTuple):
    """A waiting conversation: its id, agent and metadata, and the Unix second of its last change."""

    conversation_id: str
    agent_id: str
    metadata: Document
    changed_at: int


def find_waiting(
    workspace_id: str, agent_ids: Collection[str], cursor: str | None = None
) -> tuple[list[WaitingConversation], str | None]:
    """Return the agents' conversations that still wait for a person, the longest wait first.

    Examine at most 2,000 entries, newest first, after the cursor. Also return the cursor for the next search, or None
    at the end of the inbox.
    """
    waiting: list[WaitingConversation] = []
    examined, has_more = 0, True
    while has_more and examined < _MAX_EXAMINED:
        has_more = False
        for position, row, has_more in filtered_lists.inbox(workspace_id, cursor, _PORTION):  # noqa: B007
            cursor, examined = position, examined + 1
            agent_id = split_key(row.agent)[1] if row else ""
            if row is None or agent_id not in agent_ids:
                continue
            metadata = _read_metadata(row)
            conversation_id = split_key(row.conversation)[2]
            waits = metadata.get("state") == _WAITING_STATE and not is_trial(conversation_id, metadata)
            if waits and not store.has_expired(metadata):
                waiting.append(WaitingConversation(conversation_id, agent_id, metadata, second_of(position)))
    return waiting[::-1], cursor if has_more else None


def _read_metadata(row: ConversationRow) -> Document:
    """Return the metadata.

    If it is corrupt, return an empty document, so that one conversation cannot block all emails.
    """
    try:
        return store.read_metadata(row)
    except encryption.DecryptionError:
        _log.exception("Cannot read a conversation; emails will not list it")
        return {}


def second_of(position: str) -> int:
    """Return the Unix second of a conversation's last change from its inbox position."""
    return int(position.partition(".")[0])


def titles(workspace_id: str, agent_ids: Collection[str]) -> dict[str, str]:
    """Return agents' titles by id. An agent without a title has its id as title. This costs one request."""
    ids = sorted(agent_ids)
    rows = find_many([agents.key(workspace_id, agent_id) for agent_id in ids])
    known = {one: row.open().get("title") for one, row in zip(ids, rows, strict=True) if agents.is_active(row)}
    return {agent_id: known.get(agent_id) or agent_id for agent_id in ids}
