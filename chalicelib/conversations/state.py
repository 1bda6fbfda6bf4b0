"""A conversation's state, and how a request changes it (§4.3). This module uses neither the clock nor the database.

A state consists of metadata and turns. A change takes three steps. `prepare_change` converts the request's turns to the
response form, in which every turn has at most one message, and every message has an id. `apply_change` replaces the
turns, deletes messages, merges the metadata, and updates the counters. `check_limits` rejects the result if it exceeds
the agent's limits.

Turns are stored as JSON text in the response form, so reads copy the text without parsing it. Likewise, a change that
only appends turns does not parse the earlier turns.
"""

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from chalicelib import errors, storage
from chalicelib.conversations import new_messages
from chalicelib.conversations.new_messages import Totals
from chalicelib.storage import Document, json_equal

if TYPE_CHECKING:  # stream functions import this module, and must not load pydantic
    from chalicelib.conversations.models import StateIn

# A response contains the new turns and, if they fit, the old turns. Lambda limits responses to 6 MB.
MAX_TURNS_BYTES = 2 * 1024 * 1024
# The maximum size of a request body. Besides turns, the body may contain metadata and ids of messages to delete.
MAX_BODY_BYTES = MAX_TURNS_BYTES + 150_000
MAX_BODY_VALUES = 160_000
# Maximum messages in a state, where a turn without messages counts as one. The byte limit alone would allow many more,
# because an empty message takes only three bytes in a request.
MAX_MESSAGES = 30_000
_NEWEST = ("lastMessage", "lastMessageFrom", "lastMessageSender")  # members that describe the newest message
# Members of turns and messages that are omitted instead of null.
_OPTIONAL = frozenset({"from", "type", "item", "delay", "ts"})
NO_TURNS = b"[]"


class State(NamedTuple):
    """A conversation: its metadata, and its turns as the JSON text of a list in the response form.

    `new_messages` contains the user's new messages from the last change, and `totals` counts all messages ever
    received. If only the end of a long transcript was read, `turns` begins in the middle of the list, and `unread`
    contains the digests of the earlier chunks.
    """

    metadata: Document
    turns: bytes
    totals: Totals = Totals()
    new_messages: tuple[Document, ...] = ()
    unread: Sequence[bytes] = ()


class StateChange(NamedTuple):
    """The change that a request makes. `turns` contains the body's turns in the response form; `text` is their JSON."""

    body: "StateIn"
    turns: list[Document] | None = None
    text: bytes = b""


def prepare_change(body: "StateIn", now: int) -> StateChange:
    """Prepare a request's change at `now` (Unix seconds), without the stored conversation.

    Raise Invalid for a duplicate message id, and TooLarge for turns that cannot fit into a response.
    """
    if body.turns is None:
        return StateChange(body)
    if sum(len(turn.get("messages") or ()) or 1 for turn in body.turns) > MAX_MESSAGES:
        raise errors.TooLarge(f"turns must have at most {MAX_MESSAGES:,} messages.")
    turns = to_response_form(body.turns, now)
    text = to_text(turns)
    if b":null" in text:  # a search of the text costs less than a look at each message
        turns = [without_null(turn) for turn in turns]
        text = to_text(turns)
    return StateChange(body, turns, text)


def apply_change(before: State, change: StateChange, now: int) -> State:
    """Apply a change to `before` at `now` (Unix seconds): replace turns, delete messages, then merge metadata.

    Return `before` itself if nothing changes. Raise TooLarge if the turns exceed 2 MiB of JSON.
    """
    (body, turns, text), replaces = change, change.turns is not None
    if body.delete and body.delete.mids:
        turns = _without(json.loads(before.turns) if turns is None else turns, set(body.delete.mids))
        text = to_text(turns)
    metadata = body.metadata.merge_into(before.metadata) if body.metadata else before.metadata
    if turns is None:
        is_same = json_equal(metadata, before.metadata)
        return before if is_same else State(with_write_time(metadata, now), before.turns, before.totals)
    if replaces and len(text) > MAX_TURNS_BYTES and len(storage.encode_json(body.turns)) > MAX_TURNS_BYTES:
        raise errors.TooLarge("turns must be at most 2 MiB of JSON.")
    if text == before.turns and json_equal(metadata, before.metadata) and (_is_stored(before) or not replaces):
        return before
    new, totals = _receive(before, turns, text)
    return State(with_counters(metadata, turns, now), text, totals, new)


def empty_state(conversation_id: str) -> State:
    """Return a conversation's state before its first write."""
    return State({"ID": conversation_id, "userID": conversation_id}, NO_TURNS)


def check_limits(agent: Document, before: State, after: State) -> None:
    """Raise LimitReached if a change exceeds a limit in the agent record (§8).

    `limits.maxInteractionsPerUserId` limits the user messages that the conversation may ever receive, and
    `messagesLimit` limits all messages; 0 means no limit. A change that adds no new messages always passes.
    """
    was, now, limits = before.totals, after.totals, agent.get("limits") or {}
    for name, maximum, used, count in (
        ("limits.maxInteractionsPerUserId", limits.get("maxInteractionsPerUserId"), was.interactions, now.interactions),
        ("messagesLimit", agent.get("messagesLimit"), was.messages, now.messages),
    ):
        if maximum and maximum > 0 and count > maximum and count > used:
            message = f"The agent's {name} is {maximum}. This request would raise the count from {used} to {count}."
            raise errors.LimitReached(message, name, maximum, used)


def _receive(before: State, turns: list[Document], text: bytes) -> tuple[tuple[Document, ...], Totals]:
    """Return the user's new messages, and the updated totals."""
    # If a change only adds turns at the end, the stored turns do not have to be parsed. This saves 13 % of the CPU
    # instructions for a request with 100 messages.
    if text.startswith(before.turns[:-1]):
        stored = 0 if before.turns == NO_TURNS else before.metadata["messagesNum"]
        added = islice((turn for turn in turns if "messages" in turn), stored, None)
        return new_messages.find_new_messages(added, (), before.totals)
    return new_messages.find_new_messages(turns, json.loads(before.turns), before.totals)


def to_response_form(turns: list[Any], now: int) -> list[Document]:
    """Convert request turns, with any number of messages each, to response turns, with at most one message each."""
    sent_mids = {message["mid"] for turn in turns for message in turn.get("messages") or [] if message.get("mid")}
    mids: set[str] = set()
    occurrences: Counter[bytes] = Counter()
    response_turns: list[Document] = []
    size = 0
    for turn in turns:
        messages = turn.get("messages") or []
        ts = now if turn.get("ts") is None else turn["ts"]
        # `messages` and `ts` come last, as in the wire models, so a turn that is sent back unchanged has the same text.
        rest = {**turn}
        rest.pop("messages", None)
        rest.pop("ts", None)
        # Each message repeats its turn's other members, so a small request could produce a huge response.
        if len(messages) > 1:
            size += len(storage.encode_json({**rest, "ts": ts})) * len(messages)
        if size > 3 * MAX_TURNS_BYTES:
            raise errors.TooLarge("turns must be at most 6 MiB, counting a turn's other members once per message.")
        for message in messages:
            if not message.get("mid"):
                message = {"mid": ""} | message | {"mid": _mid(turn, message, occurrences, sent_mids)}
            if message["mid"] in mids:
                raise errors.Invalid.member(_second_path(turns, message["mid"]), "is duplicated")
            mids.add(message["mid"])
            response_turns.append(
                {**rest, "messages": message, "ts": ts if message.get("ts") is None else message["ts"]}
            )
        if not messages:
            response_turns.append({**rest, "ts": ts})
    return response_turns


def without_null(turn: Document) -> Document:
    """Return a turn in the response form without optional members that are null. Unknown members may be null."""
    members = {name: _without_null(value) if name == "messages" else value for name, value in turn.items()}
    return _without_null(members)


def _without_null(members: Document) -> Document:
    return {name: value for name, value in members.items() if value is not None or name not in _OPTIONAL}


def _second_path(turns: list[Any], mid: str) -> str:
    paths = (
        f"turns.{position}.messages.{index}.mid"
        for position, turn in enumerate(turns)
        for index, message in enumerate(turn.get("messages") or [])
        if message.get("mid") == mid
    )
    return list(paths)[1]


def _mid(turn: Document, message: Document, occurrences: Counter[bytes], sent_mids: set[str]) -> str:
    """Return an id that is derived from a message's content and the number of equal messages before it.

    If a transcript is sent again without ids, its messages get the same ids, so they are not new.
    """
    # The turn's `ts` is excluded because only responses contain it (§2.7), and a turn that is sent back must get the
    # same ids.
    text = json.dumps([turn.get("from"), {**message, "mid": None}], sort_keys=True).encode()
    while True:
        occurrences[text] += 1
        digest = hashlib.blake2b(text + str(occurrences[text]).encode(), digest_size=9).digest()
        mid = base64.urlsafe_b64encode(digest).decode()
        # The request may send back an equal message that already has this id.
        if mid not in sent_mids:
            return mid


def to_text(turns: list[Document]) -> bytes:
    """Return turns in the response form as the JSON text of a list."""
    from pydantic_core import to_json  # saves 8 % of the CPU instructions for a request with 100 messages

    return to_json(turns)


def _without(turns: list[Document], mids: set[str]) -> list[Document]:
    return [turn for turn in turns if turn.get("messages", {}).get("mid") not in mids]


def _is_stored(state: State) -> bool:
    """Return whether the conversation is stored. If not, even an empty list of turns creates it."""
    return "ts" in state.metadata


def with_counters(metadata: Document, turns: Sequence[Document], now: int, before: Document | None = None) -> Document:
    """Return metadata with the write time and the counters for these turns (§2.6, §2.8).

    If the turns are appended, `before` contains the earlier turns' counters.
    """
    counts = before or {}
    messages = [turn for turn in turns if "messages" in turn]
    times = [turn["ts"] for turn in turns if new_messages.is_of_user(turn)]
    first, last = counts.get("firstMessageTS"), counts.get("lastMessageTS")
    newest = new_messages.preview(messages[-1]) if messages else {name: counts.get(name) for name in _NEWEST}
    counters = {
        "messagesNum": counts.get("messagesNum", 0) + len(messages),
        "interactionsNum": counts.get("interactionsNum", 0) + len(times),
        "firstMessageTS": times[0] if times and first is None else first,
        "lastMessageTS": times[-1] if times else last,
    }
    return with_write_time(metadata | counters | newest, now)


def with_write_time(metadata: Document, now: int) -> Document:
    """Return metadata with default values and the write time, but without cleared members."""
    members = {"ts": now, "messagesNum": 0, "interactionsNum": 0, **metadata, "lastModified": now}
    return {name: value for name, value in members.items() if value is not None}
