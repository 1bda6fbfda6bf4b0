"""State changes (§4.3). Pure: no clock and no database.

Turns are stored as JSON text in the form of an answer, with one message each. So a read copies the stored text without
parsing it, and a replacement does not parse the turns that it replaces.
"""

import base64
import hashlib
import json
from collections import Counter
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from chalicelib import errors, storage
from chalicelib.conversations import new_messages
from chalicelib.conversations.new_messages import Seen
from chalicelib.storage import Document, json_equal

if TYPE_CHECKING:  # event functions import this module and must not load pydantic
    from chalicelib.conversations.models import StateIn

# In bytes. An answer has the new turns and, if they fit, the old ones; Lambda limits a response to 6 MB.
LIMIT = 2 * 1024 * 1024
# With metadata and the ids of messages to delete.
MAX_BODY_BYTES = LIMIT + 150_000
MAX_BODY_VALUES = 160_000
# Turns and messages of a state; an empty message takes three bytes in a request.
MAX_MESSAGES = 30_000
_LAST_MESSAGE = 200  # characters of the newest message in the metadata, so that most metadata fit into the index
NO_TURNS = b"[]"
NOTHING_SEEN = Seen()
_MID_FIRST = {"mid": ""}
_SORTED = json.JSONEncoder(sort_keys=True, check_circular=False)  # json.dumps would make one for each message


class State(NamedTuple):
    """A conversation: its metadata, and its turns as the JSON text of a list in the form of an answer.

    `received` has the user's new messages of the last change; `seen` is what the conversation ever received. The end of
    a long transcript has in `unread` the digests of the chunks before `turns`, which begins in the middle of the list.
    """

    metadata: Document
    turns: bytes
    seen: Seen = NOTHING_SEEN
    received: tuple[Document, ...] = ()
    unread: bytes = b""


class Change(NamedTuple):
    """A requested change. `turns` are its turns in the form of an answer, if it has any; `text` is their JSON."""

    asked: "StateIn"
    turns: list[Document] | None = None
    text: bytes = b""


def prepare(asked: "StateIn", now: int) -> Change:
    """Prepare the change of a request at `now` (Unix seconds); this does not need the conversation.

    Raises Invalid for a duplicate message id, and TooLarge for turns that cannot fit into an answer.
    """
    if asked.turns is None:
        return Change(asked)
    if sum([len(turn.get("messages") or ()) or 1 for turn in asked.turns]) > MAX_MESSAGES:
        raise errors.TooLarge(f"turns must have at most {MAX_MESSAGES:,} messages.")
    turns = answer_form(asked.turns, now)
    return Change(asked, turns, to_text(turns))


def apply(before: State, change: Change, now: int) -> State:
    """Apply a change to `before` at `now` (Unix seconds): replace turns, delete messages, then merge metadata.

    Returns `before` itself if nothing changes. Raises TooLarge for turns of more than 2 MiB of JSON.
    """
    (asked, turns, text), replaces = change, change.turns is not None
    if asked.delete and asked.delete.mids:
        turns = _without(json.loads(before.turns) if turns is None else turns, set(asked.delete.mids))
        text = to_text(turns)
    metadata = asked.metadata.merge_into(before.metadata) if asked.metadata else before.metadata
    if turns is None:
        return (
            before
            if json_equal(metadata, before.metadata)
            else State(stamped(metadata, now), before.turns, before.seen)
        )
    if replaces and len(text) > LIMIT and len(storage.encode_json(asked.turns)) > LIMIT:
        raise errors.TooLarge("turns must be at most 2 MiB of JSON.")
    if text == before.turns and json_equal(metadata, before.metadata) and (_is_stored(before) or not replaces):
        return before
    new, seen = _receive(before, turns, text)
    return State(counted(metadata, turns, now), text, seen, new)


def empty(conversation_id: str) -> State:
    """Return the state of a conversation before its first write."""
    return State({"ID": conversation_id, "userID": conversation_id}, NO_TURNS)


def last_message(message: Document) -> str:
    """Return the `lastMessage` of a conversation whose newest message this is: its first 200 characters."""
    return new_messages.text_of(message.get("item"))[:_LAST_MESSAGE]


def check_limits(agent: Document, before: State, after: State) -> None:
    """Check a change against the limits of the agent record (§8). Raises LimitReached.

    `limits.maxInteractionsPerUserId` limits the user's messages that the conversation ever received, `messagesLimit`
    all messages that it ever received; 0 is no limit. A change without new messages always passes.
    """
    was, now = before.seen, after.seen
    for name, most, used, count in (
        (
            "limits.maxInteractionsPerUserId",
            (agent.get("limits") or {}).get("maxInteractionsPerUserId"),
            was.interactions,
            now.interactions,
        ),
        ("messagesLimit", agent.get("messagesLimit"), was.messages, now.messages),
    ):
        if most and most > 0 and count > most and count > used:
            message = f"{name} of the agent is {most}; {used} are used and this would make {count}."
            raise errors.LimitReached(message, name, most, used)


def _receive(before: State, turns: list[Document], text: bytes) -> tuple[tuple[Document, ...], Seen]:
    """Return the user's new messages, and what the conversation ever received with them."""
    # A transcript grows at its end: then the stored turns, which are its beginning, need not be parsed.
    if text.startswith(before.turns[:-1]):
        stored = 0 if before.turns == NO_TURNS else before.metadata["messagesNum"]
        added = islice((turn for turn in turns if "messages" in turn), stored, None)
        return new_messages.find_new_messages(added, (), before.seen)
    return new_messages.find_new_messages(turns, json.loads(before.turns), before.seen)


def answer_form(turns: list[Any], now: int) -> list[Document]:
    """Convert turns of a request, with any number of messages, to turns of an answer, with one message each."""
    seen: set[str] = set()
    size = 0
    occurrences: Counter[bytes] = Counter()
    given: set[str] | None = None
    answered: list[Document] = []
    for turn in turns:
        messages, own_ts = turn.get("messages") or [], turn.get("ts")
        own_ts = now if own_ts is None else own_ts
        # Each message repeats the other members of its turn, so a small request could produce a huge answer.
        if len(messages) > 1:
            size += len(storage.encode_json({**_without_messages(turn), "ts": own_ts})) * len(messages)
        if size > 3 * LIMIT:
            raise errors.TooLarge("turns must be at most 6 MiB, counting the members of a turn for each message.")
        for message in messages:
            mid = message.get("mid")
            if not mid:
                given = _given(turns) if given is None else given
                mid = _mid(turn, message, occurrences, given)
                message = {**_MID_FIRST, **message, "mid": mid}
            if mid in seen:
                raise errors.Invalid.member(_second_path(turns, mid), "is duplicated")
            seen.add(mid)
            ts = message.get("ts")
            answer = turn.copy()  # as `_without_messages`, whose call takes longer than the rest
            del answer["messages"]
            answer.pop("ts", None)
            answer["messages"] = message
            answer["ts"] = own_ts if ts is None else ts
            answered.append(answer)
        if not messages:
            answered.append({**_without_messages(turn), "ts": own_ts})
    return answered


def _without_messages(turn: Document) -> Document:
    """Return a turn without `messages` and `ts`.

    The caller adds them last, in the order of the wire models, so that a turn that is sent back unchanged has the same
    text.
    """
    rest = turn.copy()
    rest.pop("messages", None)
    rest.pop("ts", None)
    return rest


def _given(turns: list[Any]) -> set[str]:
    return {message["mid"] for turn in turns for message in turn.get("messages") or [] if message.get("mid")}


def _second_path(turns: list[Any], mid: str) -> str:
    paths = (
        f"turns.{position}.messages.{index}.mid"
        for position, turn in enumerate(turns)
        for index, message in enumerate(turn.get("messages") or [])
        if message.get("mid") == mid
    )
    return list(paths)[1]


def _mid(turn: Document, message: Document, occurrences: Counter[bytes], given: set[str]) -> str:
    """Derive an id from the content of a message and the number of equal messages before it.

    A transcript that is sent again without ids gets the same ids, so its messages are not new.
    """
    # The turn's `ts` does not count: only answers have one (§2.7), and a turn that is sent back is not new.
    text = _SORTED.encode([turn.get("from"), {**message, "mid": None}]).encode()
    while True:
        occurrences[text] += 1
        digest = hashlib.blake2b(text + str(occurrences[text]).encode(), digest_size=9).digest()
        mid = base64.urlsafe_b64encode(digest).decode()
        # An equal message may have been sent back with the id that it got before.
        if mid not in given:
            return mid


def to_text(turns: list[Document]) -> bytes:
    """Return turns in the form of an answer as the JSON text of a list."""
    from pydantic_core import to_json  # three times as fast as the standard library

    return to_json(turns)


def _without(turns: list[Document], mids: set[str]) -> list[Document]:
    return [turn for turn in turns if turn.get("messages", {}).get("mid") not in mids]


def _counts(turns: list[Document]) -> Document:
    """Return the counters: all messages, and the number and times of the user's messages (§2.6, §2.8).

    With them, the beginning of the newest message.
    """
    newest = next((turn["messages"] for turn in reversed(turns) if "messages" in turn), None)
    times = [turn["ts"] for turn in turns if new_messages.is_of_user(turn)]
    return {
        "messagesNum": sum(["messages" in turn for turn in turns]),
        "interactionsNum": len(times),
        "firstMessageTS": times[0] if times else None,
        "lastMessageTS": times[-1] if times else None,
        "lastMessage": None if newest is None else last_message(newest),
    }


def _is_stored(state: State) -> bool:
    """Whether the conversation is stored: each stored one has a `ts`. An empty list of turns creates one, too."""
    return "ts" in state.metadata


def counted(metadata: Document, turns: list[Document], now: int) -> Document:
    """Return metadata with the counters of these turns, and the time of the write."""
    return stamped({**metadata, **_counts(turns)}, now)


def stamped(metadata: Document, now: int) -> Document:
    """Return metadata with its defaults and the time of the write, without cleared members."""
    stamped = {"ts": now, "messagesNum": 0, "interactionsNum": 0, **metadata, "lastModified": now}
    return {name: value for name, value in stamped.items() if value is not None}
