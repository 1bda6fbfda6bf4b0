"""Exports an agent's conversations in pages of text: NDJSON with full transcripts, or CSV for spreadsheets.

The concatenated pages form one file, so only the first page of a CSV export contains the column names.
"""

import json
from typing import NamedTuple

from chalicelib import clock, ids, storage
from chalicelib.conversations import new_messages, transcript
from chalicelib.conversations.rendering import render_v3
from chalicelib.conversations.rows import ConversationRow
from chalicelib.conversations.state import State
from chalicelib.http import files

# Maximum page size in bytes, as the escaped JSON string that Lambda returns. A single conversation always fits.
_MAX_PAGE = 5_900_000
# Once a page has read this many bytes of JSON turns, it reads no further conversations. The page size alone would not
# limit reads, because CSV rows contain only part of the turns.
_MAX_READ = 6_000_000
_DESCRIPTION = ("title", "state", "userID", "userName", "userEmail", "userPhone", "origin", "tags", "chatAssignedTo")
_COLUMNS = ("ID", "created", "lastModified", *_DESCRIPTION, "messagesNum", "interactionsNum", "transcript")


class ExportPage(NamedTuple):
    """An export page: its text, the number of conversations that were read, and the last conversation's position."""

    text: str
    conversations: int
    position: str


def page(entries: list[ConversationRow], form: str) -> ExportPage:
    """Return a page that contains as many of these entries' conversations as fit, but at least one.

    Deleted conversations are omitted. This costs one request per 20 conversations, plus one for each long conversation.
    """
    texts: list[str] = []
    size = read = 0
    last = ""
    for position, row, state in transcript.read_transcripts(entries):
        text = _WRITERS[form](row, state) if row else ""
        size += len(json.dumps(text))
        if texts and size > _MAX_PAGE:
            break
        texts.append(text)
        last = position
        read += len(state.turns)
        if read > _MAX_READ:
            break
    return ExportPage("".join(texts), len(texts), last)


def heading(form: str) -> str:
    """Return an export file's heading: the column names for CSV, or an empty string for NDJSON."""
    return files.heading(form, _COLUMNS)


def _line(row: ConversationRow, state: State) -> str:
    document = {"conversation": render_v3(row, state.metadata), "messages": transcript.all_messages(state.turns)}
    return storage.encode_json(document).decode() + "\n"


def _csv_line(row: ConversationRow, state: State) -> str:
    conversation = render_v3(row, state.metadata)
    messages = transcript.all_messages(state.turns)
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


_WRITERS = {files.NDJSON: _line, files.CSV: _csv_line}
