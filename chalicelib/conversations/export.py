"""The export of an agent's conversations as text, in pages: NDJSON with whole transcripts, or CSV for a spreadsheet.

The pages, one after the other, are one file: only the first page of a CSV has the names of the columns.
"""

import json
from typing import NamedTuple

from chalicelib import clock, ids, storage
from chalicelib.conversations import new_messages
from chalicelib.conversations.rows import ConversationRow
from chalicelib.conversations.transcript import parser, reader
from chalicelib.conversations.transcript.reader import Transcript
from chalicelib.http import files

# Bytes of a page as an escaped JSON string, in which Lambda sends it. One conversation always fits.
_MAX_PAGE = 5_900_000
# Bytes of JSON of the turns that are read for a page, which the last conversation may exceed: a CSV shows few of them.
_MAX_READ = 6_000_000
_DESCRIPTION = ("title", "state", "userID", "userName", "userEmail", "userPhone", "origin", "tags", "chatAssignedTo")
_COLUMNS = ("ID", "created", "lastModified", *_DESCRIPTION, "messagesNum", "interactionsNum", "transcript")


class Page(NamedTuple):
    """A page of an export: its text, the number of conversations read for it, and the position of the last one."""

    text: str
    conversations: int
    position: str


def page(entries: list[ConversationRow], form: str) -> Page:
    """Write the conversations of these entries of the index, at least one, as far as a page goes.

    A conversation that was deleted in the meantime is left out. One request per 20 conversations, and one for each long
    one.
    """
    texts: list[str] = []
    size = read = 0
    position = ""
    for one in reader.read(entries):
        text = _WRITERS[form](one) if one.conversation else ""
        size += len(json.dumps(text))
        if texts and size > _MAX_PAGE:
            break
        texts.append(text)
        position = one.position
        read += len(one.turns)
        if read > _MAX_READ:
            break
    return Page("".join(texts), len(texts), position)


def heading(form: str) -> str:
    """The line before the first conversation of a file; empty for a form without one."""
    return files.heading(form, _COLUMNS)


def _line(one: Transcript) -> str:
    return (
        storage.encode_json({"conversation": one.conversation, "messages": parser.all_messages(one.turns)}).decode()
        + "\n"
    )


def _row(one: Transcript) -> str:
    messages = parser.all_messages(one.turns)
    tags = (one.conversation or {}).get("tags")
    spoken = (f"{said.get('from', '')}: {new_messages.text_of(said.get('item'))}" for said in messages)
    conversation = one.conversation or {}
    cells = {
        **conversation,
        "created": clock.iso_or_none(ids.timestamp_of(one.position), units=1000),
        "lastModified": clock.iso_or_none(conversation.get("lastModified")) or conversation.get("lastModified"),
        "tags": ", ".join(map(str, tags)) if isinstance(tags, list) else tags,
        "transcript": "\n".join(spoken),
    }
    return files.csv_line(cells.get(name) for name in _COLUMNS)


_WRITERS = {files.NDJSON: _line, files.CSV: _row}
