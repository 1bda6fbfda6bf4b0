"""Apply a state change (§4.3). Pure: it reads no clock and no database, and lives nowhere else.

Turns are kept in the form in which they are answered, one message each, as JSON text. So a read passes
stored text on without parsing it, and a replacement never looks at what it replaces.
"""

import base64
import hashlib
import json
from collections import Counter
from typing import TYPE_CHECKING, Any, NamedTuple

from chalicelib import errors, storage
from chalicelib.conversations import received
from chalicelib.storage import Document, json_equal

if TYPE_CHECKING:  # event functions import this module, and must not pay for the models
    from chalicelib.conversations.models import StateIn

# The answer carries a state once, and where it fits what it was before; a function's answer ends at 6 MB.
LIMIT = 2 * 1024 * 1024
HUMAN = "human"
NO_TURNS = b"[]"
_MID_FIRST = {"mid": ""}


class State(NamedTuple):
    """A conversation: its metadata, and its turns as the JSON text of a list in the answer's form.

    `received` are the user's messages that the last change brought, `seen` marks all that ever came (`received`).
    """

    metadata: Document
    turns: bytes
    seen: bytes = b""
    received: tuple[Document, ...] = ()


class Change(NamedTuple):
    """What a request asks for; its turns, where it has any, in the answer's form, as values and as JSON text."""

    asked: "StateIn"
    turns: list[Document] | None = None
    text: bytes = b""


def prepare(asked: "StateIn", now: int) -> Change:
    """A change, before the conversation is known, at `now` (Unix seconds).

    Raises Invalid for a message id that stands there twice, TooLarge for turns that would grow beyond any answer.
    """
    if asked.turns is None:
        return Change(asked)
    turns = _answer_form(asked.turns, now)
    return Change(asked, turns, _json(turns))


def apply(before: State, change: Change, now: int) -> State:
    """`before` with the change at `now` (Unix seconds): turns replace, messages are deleted, metadata merges.

    Returns `before` itself when nothing changes. Raises TooLarge for turns of more than 2 MiB of JSON.
    """
    (asked, turns, text), replaces = change, change.turns is not None
    if asked.delete and asked.delete.mids:
        turns = _without(json.loads(before.turns) if turns is None else turns, set(asked.delete.mids))
        text = _json(turns)
    metadata = asked.metadata.merge_into(before.metadata) if asked.metadata else before.metadata
    if turns is None:
        return (
            before
            if json_equal(metadata, before.metadata)
            else State(_touched(metadata, now), before.turns, before.seen)
        )
    if replaces and len(text) > LIMIT and len(storage.encode_json(asked.turns)) > LIMIT:
        raise errors.TooLarge("turns may have 2 MiB of JSON at most.")
    if text == before.turns and json_equal(metadata, before.metadata) and (_is_stored(before) or not replaces):
        return before
    human = _human(turns)
    known = _human(json.loads(before.turns)) if received.may_forget(before.seen) else []
    new, seen = received.find_new_messages(human, before.seen, known)
    return State(_touched({**metadata, **_counts(turns, human)}, now), text, seen, new)


def empty(conversation_id: str) -> State:
    """A conversation before its first write."""
    return State({"ID": conversation_id, "userID": conversation_id}, NO_TURNS)


def check_limits(agent: Document, before: State, after: State) -> None:
    """Hold a change against the limits of the agent record (§8). Raises LimitReached.

    `limits.maxInteractionsPerUserId` counts a user's messages, `messagesLimit` all messages of the
    conversation; both only above 0, and neither stands in the way of a change that adds none.
    """
    allowed = {
        "interactionsNum": (
            "limits.maxInteractionsPerUserId",
            (agent.get("limits") or {}).get("maxInteractionsPerUserId"),
        ),
        "messagesNum": ("messagesLimit", agent.get("messagesLimit")),
    }
    for counter, (name, most) in allowed.items():
        # Before the first turns the numbers are what the conversation's creator said.
        was = 0 if before.turns == NO_TURNS else before.metadata.get(counter) or 0
        count = 0 if after.turns == NO_TURNS else after.metadata.get(counter) or 0
        if most and most > 0 and count > most and count > was:
            said = f"{name} of the agent is {most}; {was} are used and this would make {count}."
            raise errors.LimitReached(said, name, most, was)


def _answer_form(turns: list[Any], now: int) -> list[Document]:
    """Request turns, each with a list of messages, as answer turns with one message each; nothing is lost."""
    seen: set[str] = set()
    size = 0
    alike: Counter[bytes] = Counter()
    given: set[str] | None = None
    answered: list[Document] = []
    for turn in turns:
        messages = turn.get("messages") or []
        own_ts = now if turn.get("ts") is None else turn["ts"]
        # What a turn carries stands in every one of its messages: a small request could ask for a huge answer.
        if len(messages) > 1:
            size += len(storage.encode_json({**_without_messages(turn), "ts": own_ts})) * len(messages)
        if size > 3 * LIMIT:
            raise errors.TooLarge("turns may fill 6 MiB at most, each message counted with what its turn carries.")
        for message in messages:
            mid = message.get("mid")
            if not mid:
                given = _given(turns) if given is None else given
                mid = _mid(turn, message, alike, given)
                message = {**_MID_FIRST, **message, "mid": mid}
            if mid in seen:
                raise errors.Invalid.member(_second_place(turns, mid), "stands there twice")
            seen.add(mid)
            ts = message.get("ts")
            answer = _without_messages(turn)
            answer["messages"] = message
            answer["ts"] = own_ts if ts is None else ts
            answered.append(answer)
        if not messages:
            answered.append({**_without_messages(turn), "ts": own_ts})
    return answered


def _without_messages(turn: Document) -> Document:
    """What a turn carries beside its messages and its time. Both are put in last, where the models put those that are
    sent: a turn that comes back as it was answered is the same text."""
    rest = turn.copy()
    rest.pop("messages", None)
    rest.pop("ts", None)
    return rest


def _given(turns: list[Any]) -> set[str]:
    return {message["mid"] for turn in turns for message in turn.get("messages") or [] if message.get("mid")}


def _second_place(turns: list[Any], mid: str) -> str:
    places = (
        f"turns.{place}.messages.{index}.mid"
        for place, turn in enumerate(turns)
        for index, message in enumerate(turn.get("messages") or [])
        if message.get("mid") == mid
    )
    return list(places)[1]


def _mid(turn: Document, message: Document, alike: Counter[bytes], given: set[str]) -> str:
    """An id made of what the message says and how many have said the same before it.

    Whoever sends a transcript once more, without ids, sends the same messages: they must not become new.
    """
    # Without the turn's `ts`: only answers have one (§2.7), and one that is sent back brings nothing new.
    text = json.dumps([turn.get("from"), {**message, "mid": None}], sort_keys=True).encode()
    while True:
        alike[text] += 1
        digest = hashlib.blake2b(text + str(alike[text]).encode(), digest_size=9).digest()
        mid = base64.urlsafe_b64encode(digest).decode()
        # One that said the same may have come back with the id that was made for it.
        if mid not in given:
            return mid


def _json(turns: list[Document]) -> bytes:
    from pydantic_core import to_json  # it writes in a third of the time that the standard library takes

    return to_json(turns)


def _without(turns: list[Document], mids: set[str]) -> list[Document]:
    return [turn for turn in turns if turn.get("messages", {}).get("mid") not in mids]


def _counts(turns: list[Document], human: list[Document]) -> Document:
    """The members that the service counts: messages, and number and times of the user's own (§2.6, §2.8)."""
    times = [turn["ts"] for turn in human]
    return {
        "messagesNum": sum("messages" in turn for turn in turns),
        "interactionsNum": len(times),
        "firstMessageTS": times[0] if times else None,
        "lastMessageTS": times[-1] if times else None,
    }


def _human(turns: list[Document]) -> list[Document]:
    """The turns with a message of the user's own; a message without `from` is of whom its turn is."""
    return [
        turn
        for turn in turns
        if (message := turn.get("messages")) is not None and (message.get("from") or turn.get("from")) == HUMAN
    ]


def _is_stored(state: State) -> bool:
    """Whether the conversation is there already: every stored one has a `ts`. No turns at all create one too."""
    return "ts" in state.metadata


def _touched(metadata: Document, now: int) -> Document:
    whole = {"ts": now, "messagesNum": 0, "interactionsNum": 0, **metadata, "lastModified": now}
    return {name: value for name, value in whole.items() if value is not None}
