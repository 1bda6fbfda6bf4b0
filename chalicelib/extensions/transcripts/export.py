"""Exports conversations: JSON records with all messages, or CSV for spreadsheets, with the beginning of the transcript.

The concatenated CSV pages form one file, so only the first page contains the column names.
"""

import json
from collections.abc import Callable, Sequence
from typing import NamedTuple

from chalicelib import clock, errors, ids, storage
from chalicelib.conversations import new_messages, transcript
from chalicelib.conversations.rows import ConversationRow
from chalicelib.conversations.state import State
from chalicelib.extensions.transcripts import entries, reader
from chalicelib.http import current_request, files, parameters
from chalicelib.storage import Document

# Maximum page size in bytes, as the escaped JSON string that Lambda returns. A single conversation always fits.
_MAX_PAGE = 5_900_000
FORMATS = (files.JSON, files.CSV)
ORDERS = ("newest", "oldest")
# Once a page has read this many bytes of JSON turns, it reads no further conversations. The page size alone would not
# limit reads, because CSV rows contain only part of the turns.
_MAX_READ = 6_000_000
_DESCRIPTION = ("title", "state", "userID", "userName", "userEmail", "userPhone", "origin", "tags", "chatAssignedTo")
_COLUMNS = ("ID", "created", "lastModified", *_DESCRIPTION, "messagesNum", "interactionsNum", "transcript")


Render = Callable[[ConversationRow, Document], Document]


class ExportQuery(NamedTuple):
    """Which conversations to export: those created from `since` until `until`, in order, or those with these ids.

    `cursor` is the last position on the previous page. Times are Unix seconds; None means unbounded.
    """

    form: str
    since: int | None
    until: int | None
    oldest_first: bool
    cursor: str | None
    conversation_ids: list[str]

    @classmethod
    def from_request(cls) -> "ExportQuery":
        """Return the request's query. Raise Invalid."""
        form, sort = files.format_from_request(FORMATS, files.JSON), current_request.query_value("sort") or ORDERS[0]
        if sort not in ORDERS:
            raise errors.Invalid.member("sort", f"must be {' or '.join(ORDERS)}")
        since, until, cursor = parameters.seconds("fromTs"), parameters.seconds("toTs"), parameters.cursor()
        conversation_ids = _conversation_ids()
        if cursor and conversation_ids and cursor not in conversation_ids:
            raise errors.Invalid.member("cursor", "must be the nextCursor of a response to the same convoIds")
        return cls(form, since, until, sort == ORDERS[1], cursor, conversation_ids)

    def entries(self, workspace_id: str, agent_id: str, limit: int) -> list[ConversationRow]:
        """Return up to `limit` entries for `page`. This costs one request, or none for ids."""
        if not self.conversation_ids:
            read = entries.oldest_first if self.oldest_first else entries.newest_first
            return read(workspace_id, agent_id, self.since, self.until, self.cursor, limit)
        start = self.conversation_ids.index(self.cursor) + 1 if self.cursor else 0
        remaining = self.conversation_ids[start : start + limit]
        return [ConversationRow(storage.join_key(workspace_id, agent_id, one)) for one in remaining]

    def covers(self, row: ConversationRow) -> bool:
        """Return whether a conversation was created in the period."""
        created = ids.timestamp_of(row.created)
        return (self.since or 0) * 1000 <= created and (self.until is None or created < self.until * 1000)


class ExportPage(NamedTuple):
    """An export page: its records' texts, the number of conversations read, and the last one's position."""

    records: list[str]
    conversations: int
    position: str


def page(listed: Sequence[ConversationRow], query: ExportQuery, render: Render) -> ExportPage:
    """Return a page that contains as many of these entries' conversations as fit, but at least one.

    Deleted conversations are omitted. This costs one request per 20 conversations, plus one for each long conversation.
    """
    texts: list[str] = []
    size = read = 0
    last = ""
    for position, row, state in reader.read_transcripts(listed):
        text = write(render(row, state.metadata), row, state, query.form) if row and query.covers(row) else ""
        size += len(json.dumps(text))
        if texts and size > _MAX_PAGE:
            break
        texts.append(text)
        last = position
        read += len(state.turns)
        if read > _MAX_READ:
            break
    return ExportPage([text for text in texts if text], len(texts), last)


def heading() -> str:
    """Return the column names of a CSV export."""
    return files.csv_line(_COLUMNS)


def _conversation_ids() -> list[str]:
    values = [*dict.fromkeys(current_request.query_values("convoIds"))]
    if len(values) > parameters.MAX_PAGE_SIZE or not all(map(ids.IDENTIFIER.fullmatch, values)):
        raise errors.Invalid.member("convoIds", f"must be at most {parameters.MAX_PAGE_SIZE} conversation ids")
    return values


def write(conversation: Document, row: ConversationRow, state: State, form: str) -> str:
    """Return a rendered conversation with its messages, oldest first, as a JSON text or a CSV line."""
    messages = transcript.all_messages(state.turns)
    if form == files.JSON:
        return storage.encode_json({**conversation, "messages": messages}).decode()
    texts = (f"{message.get('from', '')}: {new_messages.text_of(message.get('item'))}" for message in messages)
    tags = conversation.get("tags")
    cells = {
        **conversation,
        "created": clock.iso_or_none(ids.timestamp_of(row.created), units=1000),
        "lastModified": clock.iso_or_none(conversation.get("lastModified")) or conversation.get("lastModified"),
        "tags": ", ".join(map(str, tags)) if isinstance(tags, list) else tags,
        "transcript": "\n".join(texts),
    }
    return files.csv_line(cells.get(name) for name in _COLUMNS)
