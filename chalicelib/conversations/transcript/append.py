"""Adding messages at the end of a transcript. Pure: no clock and no database.

The turns before stay as they are: the new ones are put behind their JSON text, and the counters are carried forward.
So it takes the end of a long transcript, a state with `unread` chunks, for the whole.
"""

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from chalicelib import errors, ids
from chalicelib.conversations import new_messages
from chalicelib.conversations.state import (
    MAX_MESSAGES,
    NO_TURNS,
    State,
    answer_form,
    last_message,
    stamped,
    to_text,
)
from chalicelib.conversations.transcript.edit import as_turns
from chalicelib.storage import Document

_DECODER = json.JSONDecoder()


class Element(NamedTuple):
    """A turn in the JSON text of a list: the positions of its first byte and behind its last one, and its content."""

    start: int
    end: int
    turn: Document


def prepare(asked: Sequence[Any], now: int) -> list[Document]:
    """Return messages of a request at `now` (Unix seconds) as turns in the form of an answer.

    A message without `mid` gets a new one. Raises Invalid for an id that the request has twice.
    """
    turns = as_turns(asked)
    for turn in turns:
        (message,) = turn["messages"]
        turn["messages"] = [{**message, "mid": message.get("mid") or ids.new_id()}]
    return answer_form(turns, now)


def apply(before: State, turns: Sequence[Document], stored: Collection[str], now: int) -> State:
    """Add at `now` (Unix seconds) those turns whose message is not `stored`; return `before` itself if there are none.

    Raises TooLarge if the conversation would have more than 30,000 messages.
    """
    new = [turn for turn in turns if turn["messages"]["mid"] not in stored]
    if not new:
        return before
    is_first = before.turns == NO_TURNS
    counts = _counts({} if is_first else before.metadata, new)
    if counts["messagesNum"] > MAX_MESSAGES:
        raise errors.TooLarge(f"A conversation has at most {MAX_MESSAGES:,} messages.")
    text = b"".join((before.turns[:-1], b"" if is_first else b",", to_text(new)[1:]))
    messages, seen = new_messages.find_new_messages(new, (), before.seen)
    return State(stamped({**before.metadata, **counts}, now), text, seen, messages, before.unread)


def elements(text: bytes, start: int) -> Iterator[Element]:
    """Yield the turns in the JSON text of a list from position `start` on, which is not inside a turn.

    The text is as `state.to_text` writes it.
    """
    rest = text[start:].decode()
    at, position = 0, start  # in characters, and in bytes
    while True:
        if rest[at] in "[,":
            at, position = at + 1, position + 1
        if rest[at] == "]":
            return
        turn, end = _DECODER.raw_decode(rest, at)
        after = position + (end - at if rest.isascii() else len(rest[at:end].encode()))
        yield Element(position, after, turn)
        at, position = end, after


def by_mid(turns: Iterable[Document]) -> dict[str, Document]:
    """Return the turns that have a message, by its id."""
    return {turn["messages"]["mid"]: turn for turn in turns if "messages" in turn}


def _counts(counted: Document, new: Sequence[Document]) -> Document:
    """Return the counters (§2.6) of a conversation that has `counted`, and its newest message, with the new turns."""
    times = [turn["ts"] for turn in new if new_messages.is_of_user(turn)]
    first, last = counted.get("firstMessageTS"), counted.get("lastMessageTS")
    return {
        "messagesNum": counted.get("messagesNum", 0) + len(new),
        "interactionsNum": counted.get("interactionsNum", 0) + len(times),
        "firstMessageTS": times[0] if times and first is None else first,
        "lastMessageTS": times[-1] if times else last,
        "lastMessage": last_message(new[-1]["messages"]),
    }
