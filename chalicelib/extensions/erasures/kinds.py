"""The kinds of records that an erasure searches, and how it reads and deletes them.

A kind is divided into parts, such as one per agent, and each part is read in pages. The keys of the records to delete
are JSON values, and are stored before the records are deleted (`search`). Deleting a record again has no effect.
"""

import json
import logging
from collections.abc import Callable, Collection
from functools import cached_property, partial
from typing import Any, NamedTuple

from chalicelib import clock, extensions, ids, storage
from chalicelib.agents import store as agents
from chalicelib.analytics import store as analytics
from chalicelib.conversations import leftovers, listing
from chalicelib.conversations import store as conversations
from chalicelib.extensions.erasures import store
from chalicelib.extensions.erasures.identity import Identity
from chalicelib.leads import store as leads
from chalicelib.storage import encryption, stored_responses
from chalicelib.storage.stored_responses import PieceRow, StoredResponseRow
from chalicelib.webhooks import ledger

_log = logging.getLogger(__name__)

_PAGE = 100
_REQUEST_MILLISECONDS = 60_000  # longer than any request takes
_LARGE_PAGE = 25  # records per page if records may be large


class Target(NamedTuple):
    """An erasure, with the person's identity and the conversations found so far."""

    row: store.ErasureRow
    identity: Identity
    conversations: "MatchedConversations"

    @property
    def workspace_id(self) -> str:
        """The erasure's workspace."""
        return self.row.workspace


class MatchedConversations:
    """The person's conversations. They are read on first use, after all conversations have been searched."""

    def __init__(self, row: store.ErasureRow) -> None:
        self._row = row

    @cached_property
    def pairs(self) -> set[tuple[str, str]]:
        """The agent id and conversation id of each conversation."""
        return store.list_conversations(self._row)

    @cached_property
    def ids(self) -> set[str]:
        """The id of each conversation."""
        return {conversation_id for _, conversation_id in self.pairs}


class Page(NamedTuple):
    """The keys of the person's records in a page, and the next page's position, which is None after the last page."""

    keys: list[Any]
    after: Any


class Kind(NamedTuple):
    """A kind's functions.

    `next_part` returns the part after a given one: the first part for None, and None after the last.
    """

    next_part: Callable[[str, str | None], str | None]
    find: Callable[[Target, str, Any], Page]
    delete: Callable[[str, Collection[Any]], None]


def _each_of(partitions: Callable[[str], list[str]]) -> Callable[[str, str | None], str | None]:
    """Return the `next_part` function for a kind whose parts are sorted partitions."""
    return lambda workspace_id, after: next((name for name in partitions(workspace_id) if name > (after or "")), None)


def _one_part(_: str, after: str | None) -> str | None:
    return None if after else "all"


def _find_conversations(target: Target, agent_id: str, after: str | None) -> Page:
    entries = conversations.list_by_creation(target.workspace_id, agent_id, after, _PAGE)
    matches = [
        store.Match(agent_id, conversation_id, row.created)
        for row in listing.with_metadata(entries)
        if (conversation_id := storage.split_key(row.conversation)[-1]) == target.identity.user_id
        or target.identity.matches(_decrypt(conversations.read_metadata, row) or {})
    ]
    store.remember(target.row, matches)
    keys = [[agent_id, match.conversation_id] for match in matches]
    return Page(keys, _last([entry.created for entry in entries], _PAGE))


def _delete_conversations(workspace_id: str, keys: Collection[list[str]]) -> None:
    for agent_id, conversation_id in keys:
        key = conversations.key(workspace_id, agent_id, conversation_id)
        storage.retry_on_conflict(partial(_delete_head, key))
        leftovers.clear(key.partition)


def clear_leftovers(workspace_id: str, matches: Collection[store.MatchRow]) -> None:
    """Delete the leftovers of these conversations. A conversation without leftovers costs one request."""
    for document in (match.open() for match in matches):
        key = conversations.key(workspace_id, document["agentId"], document["convoId"])
        leftovers.clear(key.partition)


def _delete_head(key: storage.Key) -> None:
    row = storage.find(conversations.ConversationRow, key.partition, key.sort)
    if row:
        with storage.unit_of_work():
            conversations.delete(row)


def _find_analytics(target: Target, agent_id: str, after: str | None) -> Page:
    rows = [*analytics.list_page(target.workspace_id, agent_id, after, _LARGE_PAGE)]
    keys = [
        [agent_id, row.item]
        for row in rows
        if row.item == target.identity.user_id
        or (agent_id, row.item) in target.conversations.pairs
        or target.identity.is_in(_decrypt(analytics.records, row))
    ]
    return Page(keys, _last([row.item for row in rows], _LARGE_PAGE))


def _delete_analytics(workspace_id: str, keys: Collection[list[str]]) -> None:
    storage.delete_many([analytics.new(workspace_id, *key) for key in keys])


def _find_leads(target: Target, agent_id: str, after: str | None) -> Page:
    rows = [*leads.list_page(target.workspace_id, agent_id, after, _LARGE_PAGE)]
    lead_ids = [row.lead_id for row in rows if target.identity.is_in(_decrypt(row.open))]
    return Page(lead_ids, _last([row.lead_id for row in rows], _LARGE_PAGE))


def _delete_leads(workspace_id: str, lead_ids: Collection[str]) -> None:
    storage.delete_many([leads.new(workspace_id, lead_id) for lead_id in lead_ids])


def _find_events(target: Target, partition: str, after: str | None) -> Page:
    rows = ledger.list_events(partition, after, _LARGE_PAGE)
    event_ids = [row.event_id for row in rows if _is_about(target, (_decrypt(row.open) or {}).get("payload", {}))]
    return Page(event_ids, _last([row.event_id for row in rows], _LARGE_PAGE))


def _is_about(target: Target, payload: dict[str, Any]) -> bool:
    conversation = (payload.get("agentId"), payload.get("convoId"))
    return conversation in target.conversations.pairs or target.identity.is_in(payload)


def _find_records(module: Any, target: Target, _: str, after: list[str] | None) -> Page:
    records = module.list_page(target.workspace_id, after, _LARGE_PAGE)
    identity = target.identity
    keys = [record.key for record in records if identity.is_in(record.value) or identity.is_in_paths(record.paths)]
    return Page(keys, _last([record.key for record in records], _LARGE_PAGE))


def _delete_records(module: Any, _: str, keys: Collection[list[str]]) -> None:
    module.delete(keys)


def _find_responses(target: Target, shard: str, after: Any) -> Page:
    entries, last = storage.query_page(PieceRow, shard, _PAGE, after, index=stored_responses.INDEX)
    requests = dict.fromkeys(entry.request for entry in entries)
    responses = [storage.Key(StoredResponseRow, request, stored_responses.RESPONSE) for request in requests]
    rows = dict(zip(requests, storage.find_many(responses), strict=True))
    return Page([keys for entry in entries if (keys := _keys_of_response(target, entry, rows[entry.request]))], last)


def _keys_of_response(target: Target, entry: PieceRow, row: StoredResponseRow | None) -> list[str]:
    """Return the partition key and sort keys of the person's response or of an abandoned piece, or an empty list.

    A response's pieces are deleted with it. A piece without a response is abandoned if no request can still commit it.
    """
    if entry.part != stored_responses.RESPONSE:
        return [entry.request, entry.part] if _is_abandoned(entry, row) else []
    if row is None:
        return []  # deleted since the index entry was written
    text, path = _decrypt(stored_responses.read_body, row), (_decrypt(row.open) or {}).get("path", {})
    content = [path, json.loads(text or "null")]
    if not target.identity.is_in(content, target.conversations.ids):
        return []
    return [row.request, row.part, *(piece.part for piece in stored_responses.piece_rows(row))]


def _is_abandoned(entry: PieceRow, row: StoredResponseRow | None) -> bool:
    """Return whether a piece belongs to a response that was not committed and that no running request can commit."""
    writing = storage.split_key(entry.part)[0]
    if clock.milliseconds() - ids.timestamp_of(writing) < _REQUEST_MILLISECONDS:
        return False
    if row is not None and row.writing == writing:
        return False
    return storage.find(PieceRow, entry.request, entry.part) is not None  # the index may lag behind


def _delete_responses(_: str, keys: Collection[list[str]]) -> None:
    for request, *parts in keys:
        storage.delete_many([PieceRow(request, part) for part in parts])


def by_name() -> dict[str, Kind]:
    """Return core's and the enabled extensions' kinds, in search order."""
    of_extensions = {
        module.KIND: Kind(_one_part, partial(_find_records, module), partial(_delete_records, module))
        for module in extensions.hooks("erasable")
    }
    return {**_FIRST, **of_extensions, **SEARCHED_ONCE}


_FIRST = {
    "conversations": Kind(agents.next_id, _find_conversations, _delete_conversations),
    "analytics": Kind(agents.next_id, _find_analytics, _delete_analytics),
    "leads": Kind(agents.next_id, _find_leads, _delete_leads),
    "events": Kind(_each_of(ledger.event_partitions), _find_events, ledger.delete_events),
}
# Only the second search includes these kinds, because it finds every record that was stored before it.
SEARCHED_ONCE = {"answers": Kind(_each_of(stored_responses.shards), _find_responses, _delete_responses)}


def _last(positions: list[Any], limit: int) -> Any:
    """Return the next page's position, or None after the last page."""
    return positions[-1] if len(positions) == limit else None


def _decrypt(read: Callable[..., Any], *arguments: Any) -> Any:
    """Return the result of `read`, or None if no key can decrypt the record."""
    try:
        return read(*arguments)
    except encryption.DecryptionError:
        _log.exception("Cannot decrypt a record; the erasure does not delete it")
        return None
