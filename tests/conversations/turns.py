"""Helpers that build messages and turns, and read the stored items of conversations."""

import os
from typing import Any

from chalicelib.storage import encode_json
from tests.api import Answer
from tests.assertions import stored

STATE = "/agents/support/interact/user-1/state"


def message(mid: str, sender: str = "human", **rest: Any) -> dict[str, Any]:
    """Return a message with this id."""
    return {"mid": mid, "from": sender, "type": "text", "item": {"payload": {"message": "hello"}}, **rest}


def turns(*messages: dict[str, Any], sender: str = "human") -> list[dict[str, Any]]:
    """Return a list with one turn that contains these messages, in request form."""
    return [{"from": sender, "messages": list(messages)}]


def mids(answer: Answer, member: str = "turns") -> list[str]:
    """Return the message ids in a response."""
    return [turn["messages"]["mid"] for turn in answer.json[member]]


def items() -> list[dict[str, Any]]:
    """Return every stored conversation item."""
    return stored()["cams-conversations"]


def long_turns(size: int, seed: str = "") -> list[dict[str, Any]]:
    """Return turns whose JSON is exactly `size` bytes long and mostly incompressible."""
    sent = turns(*(message(f"{seed}{number}", text=os.urandom(400).hex()) for number in range(size // 1000)))
    sent[0]["messages"][0]["fill"] = ""
    sent[0]["messages"][0]["fill"] = "x" * (size - len(encode_json(sent)))
    assert len(encode_json(sent)) == size
    return sent
