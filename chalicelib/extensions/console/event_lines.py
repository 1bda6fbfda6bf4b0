"""The lines in a transcript for events whose times a conversation's row stores."""

from collections import defaultdict
from collections.abc import Sequence
from typing import NamedTuple

from chalicelib import ids
from chalicelib.conversations import store
from chalicelib.conversations.rows import ConversationRow
from chalicelib.extensions.console.bubbles import Bubble

_ENDED = "ended_chat"


class EventLine(NamedTuple):
    """An event: the state that began, and its time in Unix seconds."""

    state: str
    time: int


def of_conversation(row: ConversationRow) -> list[EventLine]:
    """Return the unanswered request for a person, the last takeover, and the first end, in their order."""
    events = []
    if row.taken_at:
        events.append(EventLine(store.WITH_PERSON, int(row.taken_at) // 1000))
    if row.requested_at:
        events.append(EventLine(store.HANDOFF, int(row.requested_at) // 1000))
    if row.ended_after is not None:
        events.append(EventLine(_ENDED, (ids.timestamp_of(row.created) + int(row.ended_after)) // 1000))
    return sorted(events, key=lambda event: event.time)


def by_position(
    events: Sequence[EventLine], messages: Sequence[Bubble], *, is_first: bool, is_last: bool
) -> dict[int, list[EventLine]]:
    """Return the events by the index of the message that they precede, in the page's order.

    The index of the events after all messages is the number of messages. A page that does not contain a transcript's
    first or last message omits the events before or after its messages.
    """
    lines = defaultdict(list)
    for event in events:
        # A takeover precedes messages of the same second, because one of them may have taken over.
        last_second = event.time - (event.state == store.WITH_PERSON)
        later = (index for index, message in enumerate(messages) if message.time and message.time > last_second)
        index = next(later, len(messages))
        if (index or is_first) and (index < len(messages) or is_last):
            lines[index].append(event)
    return dict(lines)
