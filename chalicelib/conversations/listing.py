"""Lists an agent's conversations, newest first, using an eventually consistent index on creation time.

Requests with a cursor and the first numbered pages need only the index. The positions of later pages are computed from
tallies (`page_position`).
"""

import hashlib
from collections.abc import Callable
from typing import Any

from chalicelib import ids, storage
from chalicelib.conversations import page_position, tallies
from chalicelib.conversations.page_position import Jump, Quarter
from chalicelib.conversations.rows import CONVERSATION_ITEM, ConversationRow

PAGE_SIZE = 20  # fixed by §4.2
_LIMIT = PAGE_SIZE + 1  # the extra entry shows that another page follows
# Maximum number of entries to skip without using tallies: normally, and if the agent has no tallies yet.
_SHALLOW = 60
_UNTALLIED = 1_000
_CHUNK = 1_000  # entries per request


def list_after(agent: storage.Key, workspace_id: str, agent_id: str, cursor: str) -> tuple[Any, list[ConversationRow]]:
    """Return the row keyed by `agent`, and up to 21 entries older than `cursor`. This costs two requests."""
    return storage.find(*agent), _older(workspace_id, agent_id, cursor, _LIMIT)


def list_page(agent: storage.Key, workspace_id: str, agent_id: str, page: int) -> tuple[Any, list[ConversationRow]]:
    """Return the row keyed by `agent`, and up to 21 entries from the start of a page. Pages are numbered from 1.

    This costs two requests up to a depth of 60 entries. Deeper pages cost four requests, plus one per 1,000
    conversations in the quarter hour. Conversations that were created or deleted in the last two minutes may not be
    counted yet, so these pages may overlap or leave a gap.
    """
    depth = (page - 1) * PAGE_SIZE
    months = [] if depth <= _SHALLOW else tallies.list_months(workspace_id, agent_id)
    position = page_position.find_day(months, depth)
    if position:
        row, day = storage.find_many([agent, tallies.day_key(workspace_id, agent_id, position.day)])
        quarters = day.tallies() if day else []
        return row, _from_jump(workspace_id, agent_id, page_position.find_jump(position, quarters, _LIMIT))
    row = storage.find(*agent)
    if depth > _UNTALLIED:
        return row, []
    return row, _read(_query_older, storage.join_key(workspace_id, agent_id), None, depth, _LIMIT)


def with_metadata(entries: list[ConversationRow]) -> list[ConversationRow]:
    """Return the entries as `read_long` does, but omit deleted conversations."""
    return [row for row in read_long(entries) if row]


def read_long(entries: list[ConversationRow]) -> list[ConversationRow | None]:
    """Return the entries, with table rows in place of entries whose metadata is too long for the index.

    A replaced entry is None if its conversation has been deleted. This costs one request in total.
    """
    long = [entry.conversation for entry in entries if entry.summary is None]
    if not long:
        return [*entries]
    rows = storage.find_many(
        [storage.Key(ConversationRow, partition, CONVERSATION_ITEM, consistent=False) for partition in long]
    )
    by_partition = dict(zip(long, rows, strict=True))
    return [by_partition[entry.conversation] if entry.summary is None else entry for entry in entries]


def version_of(row: ConversationRow) -> str:
    """Return a conversation's creation time, and a digest that changes with each save.

    Each save encrypts the metadata with a new nonce. An entry whose metadata is too long for the index has no digest.
    """
    digest = hashlib.sha256(row.summary).hexdigest()[:32] if row.summary else row.version_tag or ""
    return f"{row.created}.{digest}"


def find_unchanged(workspace_id: str, agent_id: str, conversation_id: str, version: str) -> ConversationRow | None:
    """Return a conversation's entry if it still has this version, or None. This costs one request of half a unit."""
    agent, created = storage.join_key(workspace_id, agent_id), version.rpartition(".")[0]
    entries = storage.query(ConversationRow, agent, ConversationRow.created == created, index="by_creation", limit=1)
    conversation = storage.join_key(agent, conversation_id)
    return next((row for row in entries if row.conversation == conversation and version_of(row) == version), None)


def recount(workspace_id: str, agent_id: str, quarter: Quarter) -> None:
    """Recount the conversations that were created in a quarter hour. This costs three requests, plus one per MB."""
    start = quarter.start()
    within = ConversationRow.created.between(
        ids.id_at(start, 0), ids.id_at(start + page_position.QUARTER_MILLISECONDS, 0)
    )
    agent = storage.join_key(workspace_id, agent_id)
    tallies.recount(
        workspace_id, agent_id, quarter, lambda: storage.count(ConversationRow, agent, within, index="by_creation")
    )


def list_quarters(workspace_id: str, agent_id: str) -> list[Quarter]:
    """Return the quarter hours that contain any of an agent's conversations or tallies, oldest first.

    This reads the agent's whole index, in requests of up to 1 MB.
    """
    quarters, cursor = set(tallies.list_quarters(workspace_id, agent_id)), None
    while entries := _older(workspace_id, agent_id, cursor, _CHUNK):
        quarters |= {quarter for entry in entries if (quarter := _quarter_of(entry))}
        cursor = entries[-1].created
    return sorted(quarters)


def _quarter_of(entry: ConversationRow) -> Quarter | None:
    """Return an entry's quarter hour, or None if its key is not a ULID. Earlier versions imported such entries."""
    try:
        return page_position.quarter_of(entry.created)
    except (ValueError, OverflowError):
        return None


def _from_jump(workspace_id: str, agent_id: str, jump: Jump) -> list[ConversationRow]:
    agent, boundary = storage.join_key(workspace_id, agent_id), ids.id_at(jump.boundary, 0)
    newer = min(jump.newer, _LIMIT)
    entries = _read(_query_newer, agent, boundary, jump.newer - newer, newer)[::-1]
    return entries + _read(_query_older, agent, boundary, jump.skip, _LIMIT - newer)


def _older(workspace_id: str, agent_id: str, before: str | None, limit: int) -> list[ConversationRow]:
    return _query_older(storage.join_key(workspace_id, agent_id), before, limit)


_Query = Callable[[str, str | None, int], list[ConversationRow]]


def _read(query: _Query, agent: str, start: str | None, skip: int, limit: int) -> list[ConversationRow]:
    """Skip `skip` entries, then return up to `limit`. Each request reads at most 1,000 entries to limit memory use."""
    while skip + limit > _CHUNK:
        skipped = query(agent, start, _CHUNK - limit)
        if not skipped:
            return []
        skip, start = skip - len(skipped), skipped[-1].created
    return query(agent, start, skip + limit)[skip:] if limit else []


def _query_older(agent: str, before: str | None, limit: int) -> list[ConversationRow]:
    condition = ConversationRow.created < before if before else None
    return storage.query(ConversationRow, agent, condition, index="by_creation", newest_first=True, limit=limit)


def _query_newer(agent: str, after: str | None, limit: int) -> list[ConversationRow]:
    return storage.query(ConversationRow, agent, ConversationRow.created > after, index="by_creation", limit=limit)
