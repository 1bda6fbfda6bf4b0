"""All conversations of several agents in one list, newest first, with filters and a search of messages.

The API lists one agent's conversations by their creation time, so this list has the same order. It contains each
conversation once, because a page continues after the creation time of the last conversation before it.
"""

import heapq
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, islice
from typing import NamedTuple

from chalicelib import errors, extensions, ids, storage
from chalicelib.conversations import listing, new_messages, store
from chalicelib.conversations.filters import Filters
from chalicelib.conversations.rows import ConversationRow
from chalicelib.extensions.console.access import calls
from chalicelib.extensions.console.inbox_pages import inbox
from chalicelib.extensions.console.inbox_pages.inbox import MAX_ROWS
from chalicelib.storage import Document

# The maximum number of conversations that a page examines, and how many of them if it searches their messages.
MAX_EXAMINED, MAX_SEARCHED = 500, 200
# The maximum number of examined conversations whose metadata is too long for the index. Each costs one request.
_MAX_LONG = 20
_MAX_MATCHES = 100  # per agent; further matches are on the next page
_MIN_SECONDS_LEFT = 14  # if less time remains for the request, a page of several reads ends early
# The maximum number of agents whose conversations are counted, and of conversations in a count.
_MAX_COUNTED_AGENTS, _MAX_COUNTED = 10, 100
_NEWEST = "7" + "z" * 25  # the highest creation time, after which a list begins with its newest conversation


class ConversationPage(NamedTuple):
    """The conversations of a page, newest first, with `ID` and `agentId`.

    A page for an id lists only the conversations with this id. `following` is the creation time (a ULID) of the last
    examined conversation, after which the next page continues. It is None at the end of the list. In a search, a
    matching message is shown as the newest message.
    """

    conversations: list[Document]
    following: str | None = None

    @property
    def searched_until(self) -> int | None:
        """The Unix time after which all conversations were examined, or None if all or only an id were."""
        return time_of(self.following)


def time_of(cursor: str | None) -> int | None:
    """Return the Unix time before which a list continues, or None if it begins with its newest conversation."""
    is_time = ids.ULID.fullmatch(cursor or "") and cursor != _NEWEST
    return ids.timestamp_of(str(cursor)) // 1000 if is_time else None


class _ExaminedConversation(NamedTuple):
    """An examined conversation: its index entry and metadata, and whether the page lists it."""

    row: ConversationRow
    record: Document
    is_listed: bool


def read_steps(
    read_step: Callable[[str | None, int], ConversationPage],
    cursor: str | None,
    max_steps: int,
    selected: tuple[str, str] | None = None,
) -> ConversationPage:
    """Return the results of up to `max_steps` reads after the cursor as one page, which ends when it is full.

    The list beside an open conversation (`selected`, the ids of its agent and its own) ends with the step that found
    it, so that opening a result costs no more than the search that found it. `read_step` is `read` for a cursor and a
    number of rows.
    """
    results: list[Document] = []
    for _ in range(max_steps):
        page = read_step(cursor, MAX_ROWS - len(results))
        results, cursor = results + page.conversations, page.following
        has_ended = page.searched_until is None or storage.seconds_left() < _MIN_SECONDS_LEFT
        if has_ended or len(results) == MAX_ROWS or selected in {(one["agentId"], one["ID"]) for one in results}:
            break
    return ConversationPage(results, cursor)


def read(
    workspace_id: str,
    agent_ids: Sequence[str],
    conditions: Filters,
    text: str,
    cursor: str | None,
    max_rows: int,
) -> ConversationPage:
    """Return a page of the agents' conversations after the cursor that satisfy the conditions.

    `text` is the condition's text as typed. If it is the id of conversations, the first page lists only these, for one
    request, and the next page begins the search. If the extension `transcripts` is enabled, the search also covers
    messages.

    A page examines up to 500 conversations, or 200 with their messages. It costs at most two requests per agent plus
    31. A search of messages adds up to three requests per agent with examined conversations, one per 20 conversations,
    and one for each long conversation. Raise Invalid for an invalid cursor.
    """
    if cursor and not ids.ULID.fullmatch(cursor):
        raise errors.Invalid.member("cursor", "must be the address of an earlier page")
    has_messages = bool(conditions.text) and extensions.has("transcripts")
    start = cursor or (ids.id_at(conditions.until * 1000, 0) if conditions.until else None)
    if not cursor and (with_id := _with_id(workspace_id, agent_ids, conditions, text)):
        return ConversationPage(with_id, start or _NEWEST)
    rows = _newest_first(workspace_id, agent_ids, start)
    max_examined = MAX_SEARCHED if has_messages else MAX_EXAMINED
    entries, following = _examine(rows, conditions, text, max_examined, max_rows)
    if has_messages and entries:
        entries, following = _search_messages(entries, following, conditions, start)
    listed = [entry for entry in entries if entry.is_listed]
    if len(listed) > max_rows:
        listed, following = listed[:max_rows], listed[max_rows - 1].row.created
    return ConversationPage([entry.record for entry in listed], following)


def count(workspace_id: str, agent_ids: Sequence[str]) -> str:
    """Return the number of the agents' conversations as a text, which ends with `+` if there may be more.

    This counts the first ten agents' conversations, and ends at 100. It costs one request per agent.
    """
    agents = [storage.join_key(workspace_id, agent_id) for agent_id in agent_ids]
    entries = chain.from_iterable(_entries(agent, None, _MAX_COUNTED) for agent in agents[:_MAX_COUNTED_AGENTS])
    number = sum(1 for _ in islice((row for row in entries if _may_exist(row)), _MAX_COUNTED))
    return inbox.count_text(number, len(agents) > _MAX_COUNTED_AGENTS)


def _may_exist(row: ConversationRow) -> bool:
    """Return whether an index entry has not expired. Entries without metadata are not checked."""
    return row.summary is None or not store.has_expired(store.read_metadata(row))


def _newest_first(workspace_id: str, agent_ids: Sequence[str], cursor: str | None) -> Iterator[ConversationRow]:
    """Yield the agents' index entries after the cursor. Each portion of an agent's entries costs one request."""
    portion = MAX_ROWS // max(1, len(agent_ids)) + 1
    agents = [storage.join_key(workspace_id, agent_id) for agent_id in agent_ids]
    lists = [_entries(agent, cursor, portion) for agent in agents]
    return heapq.merge(*lists, key=lambda row: row.created, reverse=True)


def _entries(agent: str, before: str | None, portion: int) -> Iterator[ConversationRow]:
    while True:
        condition = ConversationRow.created < before if before else None
        rows = storage.query(ConversationRow, agent, condition, index="by_creation", newest_first=True, limit=portion)
        yield from rows
        if len(rows) < portion:
            return
        before, portion = rows[-1].created, MAX_ROWS


def _examine(
    rows: Iterator[ConversationRow], conditions: Filters, text: str, max_examined: int, max_rows: int
) -> tuple[list[_ExaminedConversation], str | None]:
    """Return the entries of a page, and the position after which the list continues, or None at its end.

    Omit expired conversations. Also omit conversations whose id is `text`, because the first page lists them.
    """
    entries: list[_ExaminedConversation] = []
    position, listed, long = None, 0, 0
    for number, row in enumerate(rows):
        if conditions.since is not None and ids.timestamp_of(row.created) < conditions.since * 1000:
            break
        if listed == max_rows or number == max_examined or long == _MAX_LONG:
            return entries, position
        position, long = row.created, long + (row.summary is None)
        for existing in listing.with_metadata([row]):
            record = inbox.record_of(existing)
            if store.has_expired(record) or record["ID"] == text:
                continue
            entries.append(_ExaminedConversation(row, record, conditions.match(row, record)))
            listed += entries[-1].is_listed
    return entries, None


def _search_messages(
    entries: list[_ExaminedConversation], following: str | None, conditions: Filters, cursor: str | None
) -> tuple[list[_ExaminedConversation], str | None]:
    """Mark the entries with matching messages as listed. Return the entries and the position after the last entry.

    An agent's search ends early if its transcripts are long. The page ends at the newest of these
    positions.
    """
    others, matches = conditions._replace(text=""), dict[tuple[str, str], Document]()
    since = ids.timestamp_of(entries[-1].row.created) // 1000
    query = {"q": conditions.text, "from": since, "cursor": cursor, "limit": _MAX_MATCHES}
    for agent_id in sorted({entry.record["agentId"] for entry in entries}):
        page = calls.get("/v3/agents/{agent_id}/convos/search", query, agent_id=agent_id)
        following = max(following or "", page.get("nextCursor") or "") or None
        for record in page["data"]:
            matches[agent_id, record["ID"]] = record["messages"][0]
    reached = []
    for entry in entries:
        message = None if entry.is_listed else matches.get((entry.record["agentId"], entry.record["ID"]))
        if following is not None and entry.row.created < following:
            break
        if message and others.match(entry.row, entry.record):
            text = new_messages.text_of(message.get("item"))  # the list shows the part with the match
            preview = {**new_messages.preview({"messages": message}), "lastMessage": text}
            newest = {"newestFrom": entry.record.get("lastMessageFrom")}
            entry = _ExaminedConversation(entry.row, {**entry.record, **preview, **newest}, True)
        reached.append(entry)
    return reached, following


def _with_id(workspace_id: str, agent_ids: Sequence[str], conditions: Filters, text: str) -> list[Document]:
    """Return the agents' conversations whose id is `text`, if they satisfy the other conditions."""
    if not ids.IDENTIFIER.fullmatch(text):
        return []
    keys = [store.key(workspace_id, agent_id, text)._replace(consistent=False) for agent_id in agent_ids]
    rows = [row for row in map(store.unless_expired, storage.find_many(keys)) if row]
    records = [(row, inbox.record_of(row)) for row in rows]
    return [record for row, record in records if conditions._replace(text="").match(row, record)]
