"""Adds messages to the end of a transcript. This module uses neither the clock nor the database.

The JSON text of the new turns is appended to the unchanged text of the earlier turns, and the counters are increased.
Therefore, only the end of a long transcript has to be read, and its earlier chunks remain `unread`.
"""

from collections.abc import Collection, Sequence
from typing import Any

from chalicelib import errors, ids
from chalicelib.conversations import new_messages
from chalicelib.conversations.state import (
    MAX_MESSAGES,
    NO_TURNS,
    State,
    to_response_form,
    to_text,
    with_counters,
    without_null,
)
from chalicelib.conversations.transcript.edit import as_turns
from chalicelib.storage import Document


def new_turns(messages: Sequence[Any], now: int) -> list[Document]:
    """Return a request's messages at `now` (Unix seconds) as turns in the response form.

    A message without `mid` gets a new id. Raise Invalid for a duplicate message id.
    """
    with_mids = [{**message, "mid": message.get("mid") or ids.new_id()} for message in messages]
    return [without_null(turn) for turn in to_response_form(as_turns(with_mids), now)]


def add_turns(before: State, turns: Sequence[Document], stored: Collection[str], now: int) -> State:
    """Return the state after adding the turns whose messages are not in `stored`, at `now` (Unix seconds).

    Return `before` itself if all messages are stored. Raise TooLarge for more than 30,000 messages in total.
    """
    new = [turn for turn in turns if turn["messages"]["mid"] not in stored]
    if not new:
        return before
    is_first = before.turns == NO_TURNS
    metadata = with_counters(before.metadata, new, now, {} if is_first else before.metadata)
    if metadata["messagesNum"] > MAX_MESSAGES:
        raise errors.TooLarge(f"A conversation can have at most {MAX_MESSAGES:,} messages.")
    text = b"".join((before.turns[:-1], b"" if is_first else b",", to_text(new)[1:]))
    messages, totals = new_messages.find_new_messages(new, (), before.totals)
    return State(metadata, text, totals, messages, before.unread)
