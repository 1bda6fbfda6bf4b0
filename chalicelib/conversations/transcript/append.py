"""Adding messages at the end of a transcript. Pure: no clock and no database.

The earlier turns stay unchanged: the new turns follow their JSON text, and the counters are carried forward. So the end
of a long transcript, a state with `unread` chunks, is enough.
"""

from collections.abc import Collection, Sequence
from typing import Any

from chalicelib import errors, ids
from chalicelib.conversations import new_messages
from chalicelib.conversations.state import MAX_MESSAGES, NO_TURNS, State, answer_form, to_text, with_counters
from chalicelib.conversations.transcript.edit import as_turns
from chalicelib.storage import Document


def new_turns(messages: Sequence[Any], now: int) -> list[Document]:
    """Return messages of a request at `now` (Unix seconds) as turns in the form of an answer.

    A message without `mid` gets a new one. Raise Invalid for a duplicate message id.
    """
    return answer_form(as_turns([{**message, "mid": message.get("mid") or ids.new_id()} for message in messages]), now)


def add_turns(before: State, turns: Sequence[Document], stored: Collection[str], now: int) -> State:
    """Add at `now` (Unix seconds) the turns whose message is not `stored`; return `before` itself if there are none.

    Raise TooLarge if the conversation would have more than 30,000 messages.
    """
    new = [turn for turn in turns if turn["messages"]["mid"] not in stored]
    if not new:
        return before
    is_first = before.turns == NO_TURNS
    metadata = with_counters(before.metadata, new, now, {} if is_first else before.metadata)
    if metadata["messagesNum"] > MAX_MESSAGES:
        raise errors.TooLarge(f"A conversation has at most {MAX_MESSAGES:,} messages.")
    text = b"".join((before.turns[:-1], b"" if is_first else b",", to_text(new)[1:]))
    messages, totals = new_messages.find_new_messages(new, (), before.totals)
    return State(metadata, text, totals, messages, before.unread)
