"""Edits messages anywhere in a transcript. This module uses neither the clock nor the database."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from chalicelib import errors
from chalicelib.conversations.state import MAX_TURNS_BYTES, State, to_text, with_counters
from chalicelib.storage import Document, json_equal


def edit_message(before: State, mid: str, members: Document, now: int) -> State:
    """Return the state with members merged into the message `mid` at `now` (Unix seconds). None clears a member.

    The message keeps its `mid`, and does not count as new. Return `before` itself if nothing changes. Raise NotFound if
    the message does not exist, and TooLarge if the turns exceed 2 MiB.
    """
    turns: list[Document] = json.loads(before.turns)
    places = (index for index, turn in enumerate(turns) if turn.get("messages", {}).get("mid") == mid)
    index = errors.require(next(places, None), "message")
    edited = _edit_turn(turns[index], {**members, "mid": mid})
    if json_equal(edited, turns[index]):
        return before
    turns[index] = edited
    return _with_turns(before, turns, now)


def changed_turns(turns: Iterable[Document], stored: Mapping[str, Document]) -> dict[str, Document]:
    """Return the stored turns whose messages these turns replace with different ones, as changed, by message id.

    `stored` contains stored turns by message id. A message without `from` or `ts` keeps the stored turn's value.
    """
    changed: dict[str, Document] = {}
    for turn in turns:
        message, old = turn["messages"], stored.get(turn["messages"]["mid"])
        if old:
            ts = old["ts"] if message.get("ts") is None else message["ts"]
            new = {**old, **turn, "ts": ts}
            changed |= {} if json_equal(old, new) else {message["mid"]: new}
    return changed


def replace_turns(before: State, changed: Mapping[str, Document], now: int) -> State:
    """Return the state with changed turns, by message id, at `now` (Unix seconds). Their messages do not count as new.

    Raise TooLarge if the turns exceed 2 MiB.
    """
    turns: list[Document] = json.loads(before.turns)
    return _with_turns(before, [changed.get(turn.get("messages", {}).get("mid"), turn) for turn in turns], now)


def _with_turns(before: State, turns: list[Document], now: int) -> State:
    text = to_text(turns)
    if len(text) > MAX_TURNS_BYTES:
        raise errors.TooLarge("The turns of a conversation must be at most 2 MiB of JSON.")
    return State(with_counters(before.metadata, turns, now), text, before.totals)


def as_turns(messages: Sequence[Any]) -> list[Document]:
    """Return one request turn per message. Raise Invalid for a duplicate message id."""
    mids: set[str] = set()
    for index, mid in enumerate(message.get("mid") for message in messages):
        if mid in mids:
            raise errors.Invalid.member(f"messages.{index}.mid", "is duplicated")
        if mid:
            mids.add(mid)
    return [_turn(message) for message in messages]


def _turn(message: Document) -> Document:
    sender = message.get("from")
    return {"messages": [message]} if sender is None else {"from": sender, "messages": [message]}


def _edit_turn(turn: Document, members: Document) -> Document:
    """Return a turn with members merged into its message. A new `from` or `ts` also changes the turn's own value."""
    rest = {name: value for name, value in turn.items() if name not in ("messages", "ts")}
    if "from" in members:
        rest = _merge(rest, {"from": members["from"]})
    ts = turn["ts"] if members.get("ts") is None else members["ts"]
    return {**rest, "messages": _merge(turn["messages"], members), "ts": ts}


def _merge(document: Document, members: Document) -> Document:
    merged = document | members
    return {name: value for name, value in merged.items() if value is not None or name not in members}
