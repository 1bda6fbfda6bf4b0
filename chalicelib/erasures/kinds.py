"""The kinds of records in which an erasure looks for a person: how to walk through them, and to delete what it finds.

A kind is in parts, such as agents, and a part is read page by page. What a page has found is a list of JSON values,
which is stored before anything is deleted (`erasing`); deleting again has no effect.
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
from chalicelib.erasures import store
from chalicelib.erasures.person import Person
from chalicelib.leads import store as leads
from chalicelib.storage import encryption, stored_responses
from chalicelib.webhooks import ledger

_log = logging.getLogger(__name__)

_PAGE = 100
_REQUEST_MILLISECONDS = 60_000  # longer than a request lasts
_LARGE_PAGE = 25  # of records that may be large


class Target(NamedTuple):
    """An erasure, and the person that it looks for."""

    row: store.ErasureRow
    person: Person
    found: "Conversations"

    @property
    def workspace_id(self) -> str:
        """The workspace of the erasure."""
        return self.row.workspace


class Conversations:
    """The conversations of the person, read when they are first needed: after the walk through all conversations."""

    def __init__(self, row: store.ErasureRow) -> None:
        self._row = row

    @cached_property
    def pairs(self) -> set[tuple[str, str]]:
        """Agent id and conversation id of each."""
        return store.list_found(self._row)

    @cached_property
    def ids(self) -> set[str]:
        """The id of each."""
        return {conversation_id for _, conversation_id in self.pairs}


class Page(NamedTuple):
    """What a page has found, and where the next one begins; None after the last page."""

    found: list[Any]
    after: Any


class Kind(NamedTuple):
    """How to walk through the records of a kind: `next_part` follows a part, from None to None."""

    next_part: Callable[[str, str | None], str | None]
    find: Callable[[Target, str, Any], Page]
    delete: Callable[[str, Collection[Any]], None]


def _each_of(partitions: Callable[[str], list[str]]) -> Callable[[str, str | None], str | None]:
    """Return the `next_part` of a kind whose parts are sorted partitions."""
    return lambda workspace_id, after: next((one for one in partitions(workspace_id) if one > (after or "")), None)


def _one_part(_: str, after: str | None) -> str | None:
    return None if after else "all"


def _find_conversations(target: Target, agent_id: str, after: str | None) -> Page:
    entries = conversations.list_by_creation(target.workspace_id, agent_id, after, _PAGE)
    found = [
        store.Conversation(agent_id, conversation_id, row.created)
        for row in listing.with_metadata(entries)
        if (conversation_id := storage.split_key(row.conversation)[-1]) == target.person.user_id
        or target.person.has(_opened(conversations.read_metadata, row) or {})
    ]
    store.remember(target.row, found)
    return Page([[agent_id, one.conversation_id] for one in found], _last([one.created for one in entries], _PAGE))


def _delete_conversations(workspace_id: str, found: Collection[list[str]]) -> None:
    for agent_id, conversation_id in found:
        key = conversations.key(workspace_id, agent_id, conversation_id)
        storage.retry_on_conflict(partial(_delete_head, key))
        leftovers.clear(key.partition)


def clear_parts(workspace_id: str, found: Collection[store.FoundRow]) -> None:
    """Delete what is left of these conversations. One request each if there is nothing."""
    for one in (row.open() for row in found):
        leftovers.clear(conversations.key(workspace_id, one["agentId"], one["convoId"]).partition)


def _delete_head(key: storage.Key) -> None:
    row = storage.find(conversations.ConversationRow, key.partition, key.sort)
    if row:
        with storage.unit_of_work():
            conversations.delete(row)


def _find_analytics(target: Target, agent_id: str, after: str | None) -> Page:
    rows = [*analytics.list_page(target.workspace_id, agent_id, after, _LARGE_PAGE)]
    found = [
        [agent_id, row.item]
        for row in rows
        if row.item == target.person.user_id
        or (agent_id, row.item) in target.found.pairs
        or target.person.is_in(_opened(analytics.records, row))
    ]
    return Page(found, _last([row.item for row in rows], _LARGE_PAGE))


def _delete_analytics(workspace_id: str, found: Collection[list[str]]) -> None:
    storage.delete_many([analytics.new(workspace_id, *one) for one in found])


def _find_leads(target: Target, agent_id: str, after: str | None) -> Page:
    rows = [*leads.list_page(target.workspace_id, agent_id, after, _LARGE_PAGE)]
    found = [row.lead_id for row in rows if target.person.is_in(_opened(row.open))]
    return Page(found, _last([row.lead_id for row in rows], _LARGE_PAGE))


def _delete_leads(workspace_id: str, found: Collection[str]) -> None:
    storage.delete_many([leads.row_for_key(workspace_id, one) for one in found])


def _find_events(target: Target, partition: str, after: str | None) -> Page:
    rows = ledger.list_events(partition, after, _LARGE_PAGE)
    found = [row.event_id for row in rows if _is_about(target, (_opened(row.open) or {}).get("payload", {}))]
    return Page(found, _last([row.event_id for row in rows], _LARGE_PAGE))


def _is_about(target: Target, payload: dict[str, Any]) -> bool:
    conversation = (payload.get("agentId"), payload.get("convoId"))
    return conversation in target.found.pairs or target.person.is_in(payload)


def _find_records(module: Any, target: Target, _: str, after: list[str] | None) -> Page:
    records = module.list_page(target.workspace_id, after, _LARGE_PAGE)
    found = [one.key for one in records if target.person.is_in(one.value) or target.person.is_on(one.paths)]
    return Page(found, _last([one.key for one in records], _LARGE_PAGE))


def _delete_records(module: Any, _: str, keys: Collection[list[str]]) -> None:
    module.delete(keys)


def _find_answers(target: Target, shard: str, after: Any) -> Page:
    rows, last = stored_responses.list_page(shard, _PAGE, after)
    stored = stored_responses.find_answers(rows)
    return Page([found for row in rows if (found := _find_answer(target, row, stored.get(row.request)))], last)


def _find_answer(
    target: Target, entry: stored_responses.PieceRow, row: stored_responses.StoredResponseRow | None
) -> list[str]:
    """The keys to delete, if this response is of the person: its partition key and its sort keys.

    A piece is deleted with its response. If the response was never committed, the piece belongs to no record.
    """
    if not entry.is_answer:
        return [entry.request, entry.part] if _is_abandoned(entry, row) else []
    if row is None:
        return []  # deleted since the index was written
    text, path = _opened(stored_responses.read_body, row), (_opened(row.open) or {}).get("path", {})
    about = [path, json.loads(text or "null")]
    is_found = target.person.is_in(about, target.found.ids)
    return [row.request, row.part, *(one.part for one in stored_responses.piece_rows(row))] if is_found else []


def _is_abandoned(entry: stored_responses.PieceRow, row: stored_responses.StoredResponseRow | None) -> bool:
    """Whether this is a stored piece of a response that no request will commit any more, and none has."""
    writing = storage.split_key(entry.part)[0]
    if clock.milliseconds() - ids.timestamp_of(writing) < _REQUEST_MILLISECONDS:
        return False
    if row is not None and row.writing == writing:
        return False
    return storage.find(stored_responses.PieceRow, entry.request, entry.part) is not None  # the index may be late


def _delete_answers(_: str, found: Collection[list[str]]) -> None:
    for request, *own in found:
        storage.delete_many([stored_responses.PieceRow(request, one) for one in own])


def by_name() -> dict[str, Kind]:
    """Return the kinds of core and of the extensions that are on, in the order of a search."""
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
# What is written to them during the first search is found by the second one.
SEARCHED_ONCE = {"answers": Kind(_each_of(stored_responses.shards), _find_answers, _delete_answers)}


def _last(positions: list[Any], limit: int) -> Any:
    """Where the next page begins; None if this is the last one."""
    return positions[-1] if len(positions) == limit else None


def _opened(read: Callable[..., Any], *arguments: Any) -> Any:
    """What `read` returns; None for a record that no key opens any longer."""
    try:
        return read(*arguments)
    except encryption.DecryptionError:
        _log.exception("Cannot decrypt a record; the erasure leaves it")
        return None
