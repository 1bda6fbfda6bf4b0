"""Search in the transcripts of an agent, newest conversation first.

Transcripts are sealed, so no index can find a word in them: a search opens one conversation after the other. The work
of a request is bounded, so it may find nothing yet and say how far it has looked.
"""

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from chalicelib.conversations.rows import ConversationRow
from chalicelib.conversations.transcript import parser, reader
from chalicelib.http import pages
from chalicelib.storage import Document

# Of one request: conversations, and bytes of JSON of their turns, which the last one may exceed.
MAX_EXAMINED = 200
_MAX_BYTES = 4_000_000
# Of the matching messages of a conversation, the newest are shown.
_MAX_MESSAGES = 20


def search(entries: Sequence[ConversationRow], text: str) -> Iterator[pages.Examined]:
    """Examine the conversations of these entries of the index, in their order, as far as one request may go.

    The record of one with matching messages is `{conversation, messages}`, newest message first. A message matches if
    any text in its `item` contains `text`, whatever the case. One request per 20 conversations, and one for each long
    one.
    """
    wanted, size = text.casefold(), 0
    for number, one in enumerate(reader.read(entries[:MAX_EXAMINED]), start=1):
        size += len(one.turns)
        found = _matching(one.turns, wanted)
        record = {"conversation": one.conversation, "messages": found} if found else None
        yield pages.Examined(one.position, record, number < len(entries))
        if size > _MAX_BYTES:
            return


def _matching(turns: bytes, wanted: str) -> list[Document]:
    """The newest matching messages, newest first."""
    # Most transcripts do not have the text at all, and then need not be parsed. The JSON escapes these in its own way.
    if not {'"', "\\", "/"} & {*wanted} and wanted.isprintable() and wanted not in turns.decode().casefold():
        return []
    newest_first = reversed(parser.all_messages(turns))
    matching = (one for one in newest_first if any(wanted in text.casefold() for text in _texts(one.get("item"))))
    return [*islice(matching, _MAX_MESSAGES)]


def _texts(value: Any) -> Iterator[str]:
    """All texts in a JSON value, without the names of members, in any order."""
    left = [value]
    while left:
        one = left.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict | list):
            left += one.values() if isinstance(one, dict) else one
