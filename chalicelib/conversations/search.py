"""Search in the transcripts of an agent, newest conversation first.

Transcripts are sealed, so no index can find a word in them: a search opens one conversation after the other. The work
of a request is bounded, so it may find nothing yet and say how far it has looked.
"""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, NamedTuple

from chalicelib.conversations import transcript, transcripts
from chalicelib.conversations.rows import ConversationRow
from chalicelib.storage import Document

# Of one request: conversations, and bytes of JSON of their turns, which the last one may exceed.
MAX_EXAMINED = 200
_MAX_BYTES = 4_000_000
# Of the matching messages of a conversation, the newest are shown.
_MAX_MESSAGES = 20


class Examined(NamedTuple):
    """A conversation that was examined: its position in the index, its v3 form, and its newest matching messages.

    `conversation` is None if it was deleted after it was listed.
    """

    position: str
    conversation: Document | None
    messages: list[Document]


def search(entries: Iterable[ConversationRow], text: str) -> Iterator[Examined]:
    """Examine the conversations of these entries of the index, in their order, as far as one request may go.

    A message matches if any text in its `item` contains `text`, whatever the case. One request per 20 conversations,
    and one for each long one.
    """
    wanted, size = text.casefold(), 0
    for one in transcripts.read(entries):
        size += len(one.turns)
        yield Examined(one.position, one.conversation, _matching(one.turns, wanted))
        if size > _MAX_BYTES:
            return


def _matching(turns: bytes, wanted: str) -> list[Document]:
    """The newest matching messages, newest first."""
    # Most transcripts do not have the text at all, and then need not be parsed. The JSON escapes these in its own way.
    if not {'"', "\\", "/"} & {*wanted} and wanted.isprintable() and wanted not in turns.decode().casefold():
        return []
    newest_first = reversed(transcript.all_messages(turns))
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
