"""Searches an agent's transcripts, newest conversation first.

Transcripts are encrypted, so there is no full-text index, and a search decrypts one conversation at a time. A request
examines a limited number of conversations, so a page may be empty. Each page contains the current position.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from chalicelib import storage
from chalicelib.conversations import transcript
from chalicelib.conversations.rendering import render_v3
from chalicelib.conversations.rows import ConversationRow
from chalicelib.extensions.transcripts import reader
from chalicelib.http import pages
from chalicelib.storage import Document

# Maximum conversations per request, and the number of bytes of JSON turns after which a request stops.
MAX_EXAMINED = 200
_MAX_BYTES = 4_000_000
# If less time remains for the request's reads, a search ends early instead of failing with 503.
_MIN_SECONDS_LEFT = 10
# Maximum matching messages per conversation in the response.
_MAX_MESSAGES = 20


def search(entries: Sequence[ConversationRow], text: str) -> Iterator[pages.Examined]:
    """Examine the conversations for these index entries, in order, within the limits of one request.

    For each conversation that contains matching messages, the record is the conversation with these `messages`, newest
    first. A message matches if any text in its `item` contains `text`, ignoring case. This costs one request per 20
    conversations, plus one for each long conversation.
    """
    text, size = text.casefold(), 0
    for number, (position, row, state) in enumerate(reader.read_transcripts(entries[:MAX_EXAMINED]), start=1):
        size += len(state.turns)
        messages = _matching(state.turns, text)
        record = {**render_v3(row, state.metadata), "messages": messages} if row and messages else None
        yield pages.Examined(position, record, number < len(entries))
        if size > _MAX_BYTES or storage.seconds_left() < _MIN_SECONDS_LEFT:
            return


def _matching(turns: bytes, text: str) -> list[Document]:
    """Return the newest matching messages, newest first."""
    # This check avoids parsing most transcripts, because most do not contain the text. It is skipped for characters
    # that JSON may escape.
    if not {'"', "\\", "/"} & {*text} and text.isprintable() and text not in turns.decode().casefold():
        return []
    newest_first = reversed(transcript.all_messages(turns))
    matching = (
        message for message in newest_first if any(text in value.casefold() for value in _texts(message.get("item")))
    )
    return [*islice(matching, _MAX_MESSAGES)]


def _texts(value: Any) -> Iterator[str]:
    """Yield all texts in a JSON value, except member names, in any order."""
    remaining = [value]
    while remaining:
        value = remaining.pop()
        if isinstance(value, str):
            yield value
        elif isinstance(value, dict | list):
            remaining += value.values() if isinstance(value, dict) else value
