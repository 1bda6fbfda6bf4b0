"""Filtered conversation lists: an agent's conversations, and the inbox of waiting conversations.

Filters apply to encrypted metadata, so a list decrypts the index entries one at a time. Each request examines a limited
number of entries, and the next request continues after the last of them.
"""

from collections.abc import Callable, Iterator

from chalicelib import ids, storage
from chalicelib.conversations import listing
from chalicelib.conversations.rows import ConversationRow
from chalicelib.http import pages

# Maximum index entries per request, and per query. The first query of a request reads only one page.
MAX_EXAMINED = 500
PORTION = 100
# Maximum entries per request whose metadata is too long for the index. Each such entry requires reading a whole row.
MAX_LONG = 20
_LOWEST = "0"  # sorts before every ULID


def of_agent(
    workspace_id: str, agent_id: str, since: int | None, until: int | None, cursor: str | None, limit: int
) -> Iterator[pages.Examined]:
    """Yield an agent's conversations that were created at or after `since` and before `until`, newest first.

    An entry's record is its row, or None if the conversation was deleted. Both times are Unix seconds; None means
    unbounded. This costs one request for the first `limit` entries, plus one per 100 further entries. Each batch that
    contains long entries costs one more request.
    """

    def fetch(before: str, limit: int) -> list[ConversationRow]:
        return _created(storage.join_key(workspace_id, agent_id), since, before, limit)

    latest = ids.HIGHEST if until is None else _before(ids.id_at(until * 1000, 0))
    return _examine(fetch, lambda row: row.created, min(latest, _before(cursor)), limit)


def inbox(workspace_id: str, cursor: str | None, limit: int) -> Iterator[pages.Examined]:
    """Yield a workspace's waiting conversations, the newest inbox key first. This costs as much as `of_agent`."""

    def fetch(before: str, limit: int) -> list[ConversationRow]:
        condition = ConversationRow.activity <= before
        return storage.query(
            ConversationRow, workspace_id, condition, index="by_activity", newest_first=True, limit=limit
        )

    return _examine(fetch, lambda row: row.activity, _before(cursor), limit)


def _created(agent: str, since: int | None, before: str, limit: int) -> list[ConversationRow]:
    lowest = _LOWEST if since is None else ids.id_at(since * 1000, 0)
    if before < lowest:
        return []
    condition = ConversationRow.created.between(lowest, before)
    return storage.query(ConversationRow, agent, condition, index="by_creation", newest_first=True, limit=limit)


def _examine(
    fetch: Callable[[str, int], list[ConversationRow]],
    position: Callable[[ConversationRow], str],
    start: str,
    portion: int,
) -> Iterator[pages.Examined]:
    """Yield the entries, starting at the position `start`, until a per-request limit is reached."""
    examined = long = 0
    while True:
        entries = fetch(start, portion + 1)
        batch = _affordable(entries[:portion], MAX_LONG - long)
        for number, (entry, row) in enumerate(zip(batch, listing.read_long(batch), strict=True), start=1):
            yield pages.Examined(position(entry), row, number < len(entries))
        examined += len(batch)
        long += sum(entry.summary is None for entry in batch)
        if len(batch) < portion or len(batch) == len(entries) or examined >= MAX_EXAMINED:
            return
        start, portion = _before(position(batch[-1])), min(PORTION, MAX_EXAMINED - examined)


def _affordable(entries: list[ConversationRow], limit: int) -> list[ConversationRow]:
    """Return the longest prefix of `entries` that contains at most `limit` long entries."""
    long = [number for number, entry in enumerate(entries) if entry.summary is None]
    return entries[: long[limit]] if len(long) > limit else entries


def _before(position: str | None) -> str:
    """Return the highest sort key below a position. None means above all sort keys."""
    return ids.highest_before(position) if position else ids.HIGHEST
