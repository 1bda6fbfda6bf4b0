"""Transcripts: how a conversation's turns are stored, read, extended and edited.

A conversation's turns form one JSON list. The end of the list is stored in the conversation's own item, and everything
before it in immutable chunk items (`turns`). Adding messages therefore rewrites only the end (`append`). In long
conversations, an index finds messages by id without reading the chunks (`message_index`). Other packages import only
the names below.
"""

from chalicelib.conversations.transcript.append import add_turns, new_turns
from chalicelib.conversations.transcript.edit import changed_turns, edit_message, replace_turns
from chalicelib.conversations.transcript.message_index import IndexRows, extend_index, find_stored, index_keys
from chalicelib.conversations.transcript.parser import POSITION, all_messages, by_mid, first_messages, message_of_turn
from chalicelib.conversations.transcript.reader import (
    Delta,
    end_position,
    last_messages,
    messages_from,
    newest_messages,
    read_delta,
)
from chalicelib.conversations.transcript.turns import (
    chunk_rows,
    chunks,
    first_byte,
    last_mark,
    read_end,
    read_spans,
    read_state,
    read_totals,
    stage,
)

__all__ = [
    "POSITION",
    "Delta",
    "IndexRows",
    "add_turns",
    "all_messages",
    "by_mid",
    "changed_turns",
    "chunk_rows",
    "chunks",
    "edit_message",
    "end_position",
    "extend_index",
    "find_stored",
    "first_byte",
    "first_messages",
    "index_keys",
    "last_mark",
    "last_messages",
    "message_of_turn",
    "messages_from",
    "new_turns",
    "newest_messages",
    "read_delta",
    "read_end",
    "read_spans",
    "read_state",
    "read_totals",
    "replace_turns",
    "stage",
]
