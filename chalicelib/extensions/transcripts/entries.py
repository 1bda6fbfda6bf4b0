"""Lists the index entries of an agent's conversations, which searches and exports read.

The entries were created at or after `since` and before `until`, which are Unix seconds, or None for unbounded. A list
continues after `cursor`, the creation time of its last entry. Each list costs one request.
"""

from chalicelib import ids, storage
from chalicelib.conversations.rows import ConversationRow

_LOWEST = "0"  # sorts before every ULID


def newest_first(
    workspace_id: str, agent_id: str, since: int | None, until: int | None, cursor: str | None, limit: int
) -> list[ConversationRow]:
    """Return up to `limit` entries, newest first."""
    highest = min(_latest(until), ids.highest_before(cursor) if cursor else ids.HIGHEST)
    return _query(workspace_id, agent_id, (_earliest(since), highest), limit, newest_first=True)


def oldest_first(
    workspace_id: str, agent_id: str, since: int | None, until: int | None, cursor: str | None, limit: int
) -> list[ConversationRow]:
    """Return up to `limit` entries, oldest first."""
    lowest = max(_earliest(since), f"{cursor or ''}{_LOWEST}")
    return _query(workspace_id, agent_id, (lowest, _latest(until)), limit, newest_first=False)


def _query(
    workspace_id: str, agent_id: str, period: tuple[str, str], limit: int, *, newest_first: bool
) -> list[ConversationRow]:
    lowest, highest = period
    if highest < lowest:
        return []
    agent, condition = storage.join_key(workspace_id, agent_id), ConversationRow.created.between(lowest, highest)
    return storage.query(ConversationRow, agent, condition, index="by_creation", newest_first=newest_first, limit=limit)


def _earliest(since: int | None) -> str:
    return _LOWEST if since is None else ids.id_at(since * 1000, 0)


def _latest(until: int | None) -> str:
    return ids.HIGHEST if until is None else ids.highest_before(ids.id_at(until * 1000, 0))
