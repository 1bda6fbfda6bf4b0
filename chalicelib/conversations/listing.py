"""The list of an agent's conversations: an index, newest first, eventually consistent."""

from chalicelib import storage
from chalicelib.conversations import store
from chalicelib.conversations.rows import ConversationRow

PAGE_SIZE = 20  # fixed by §4.2
# Entries per request while skipping, which bounds the memory.
_SKIPPED = 1_000


def list_after(workspace_id: str, agent_id: str, before: str | None, skip: int, limit: int) -> list[ConversationRow]:
    """Return up to `limit` entries created before `before`, or the newest, after skipping `skip` entries.

    One request per MB, and one per 1,000 skipped entries.
    """
    while skip > 0:
        skipped = _query(workspace_id, agent_id, before, min(skip, _SKIPPED))
        if len(skipped) < min(skip, _SKIPPED):
            return []
        skip, before = skip - len(skipped), skipped[-1].created
    return _query(workspace_id, agent_id, before, limit)


def with_metadata(entries: list[ConversationRow]) -> list[ConversationRow]:
    """Return the entries, with metadata that is too long for the index read by key in one request.

    A conversation that was deleted in the meantime is left out.
    """
    long = store.read_all([entry for entry in entries if entry.summary is None])
    found = {row.conversation: row for row in long}
    rows = (found.get(entry.conversation) if entry.summary is None else entry for entry in entries)
    return [row for row in rows if row]


def _query(workspace_id: str, agent_id: str, before: str | None, limit: int) -> list[ConversationRow]:
    condition = ConversationRow.created < before if before else None
    agent = storage.key(workspace_id, agent_id)
    return storage.query(ConversationRow, agent, condition, index="by_creation", newest_first=True, limit=limit)
