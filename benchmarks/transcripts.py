"""Test conversations: chats of random words, equal in every run, with a realistic compression ratio.

A message has 120 to 170 bytes of text. The text of 1,000 messages compresses about three times with zlib, like real
chats: repeated text would compress a hundred times, random bytes not at all.
"""

import base64
import hashlib
import random
from collections.abc import Sequence
from itertools import accumulate
from typing import Any, TypedDict

Message = TypedDict("Message", {"mid": str, "from": str, "type": str, "text": str, "ts": int})
"""A message in the common form. Every store must return it."""

_START = 1_790_000_000
_LONGEST_PAUSE = 90
_SHORTEST, _LONGEST = 120, 170
# The number of the first message outside `transcript`.
_OTHERS = 1_000_000
_WORDS = 1_000


def _vocabulary() -> list[str]:
    draw = random.Random(7)
    vowels = ("a", "e", "i", "o", "u", "ea", "ou", "er", "an", "in")
    syllables = [first + vowel for first in "bdfghklmnprstvwz" for vowel in vowels]
    return ["".join(draw.choices(syllables, k=draw.choice((1, 1, 2, 2, 2, 3)))) for _ in range(_WORDS)]


_VOCABULARY = _vocabulary()
# The frequency of a word falls with its rank, as in natural languages (Zipf's law).
_FREQUENCIES = list(accumulate(1 / (rank + 2) for rank in range(_WORDS)))


def transcript(count: int) -> list[Message]:
    """Return the first `count` messages of the conversation. Messages from the user and the agent alternate."""
    return _messages(0, count, _START)


def other_messages(messages: Sequence[Message], count: int, nth: int = 0) -> list[Message]:
    """Return `count` messages that follow these and are not in `transcript`. Each `nth` returns different messages."""
    return _messages(_OTHERS * (nth + 1), count, messages[-1]["ts"])


def turns(messages: Sequence[Message]) -> list[dict[str, Any]]:
    """Return the messages as turns for the state route."""
    return [{"from": message["from"], "messages": [wire_message(message)], "ts": message["ts"]} for message in messages]


def wire_message(message: Message) -> dict[str, Any]:
    """Return the message in the form of a request."""
    item = {"text": message["text"]}
    return {"mid": message["mid"], "from": message["from"], "type": message["type"], "item": item, "ts": message["ts"]}


def _messages(first: int, count: int, moment: int) -> list[Message]:
    draw = random.Random(first)
    messages: list[Message] = []
    for number in range(first, first + count):
        moment += draw.randint(3, _LONGEST_PAUSE)
        sender = ("human", "agent")[number % 2]
        messages.append({"mid": _mid(number), "from": sender, "type": "text", "text": _text(draw), "ts": moment})
    return messages


def _mid(number: int) -> str:
    """Return 12 characters that do not compress, like generated ids."""
    return base64.urlsafe_b64encode(hashlib.blake2b(str(number).encode(), digest_size=9).digest()).decode()


def _text(draw: random.Random) -> str:
    length, text = draw.randint(_SHORTEST, _LONGEST), ""
    while len(text) < length:
        (word,) = draw.choices(_VOCABULARY, cum_weights=_FREQUENCIES)
        text += word + draw.choice((" ", " ", " ", " ", " ", ", ", ". "))
    return text[:length]
