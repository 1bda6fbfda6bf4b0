"""A process that writes, or reads, one conversation, for `test_history`; it prints a line of JSON for each thread.

    python -m tests.reliability.scribes write TOKEN NAME THREADS EACH    until each thread has written so often
    python -m tests.reliability.scribes read TOKEN THREADS EACH

A write bears a name and a sum over all that it says, so that what is read tells whether it is all of one write.
Where the engine is, the environment says.
"""

import base64
import hashlib
import json
import logging
import random
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from chalicelib.conversations import store, turns
from tests.api import Answer, Api

STATE = "/agents/support/interact/ann/state"
# Of a text: in the conversation's own item, and, as it does not compress, in chunks beside it.
SMALL, LARGE = 100, 110_000
TEXTS = 3


def write(api: Api, name: str) -> Iterator[dict[str, Any]]:
    """Replace the conversation, now with a little and now with much, and say something about it in between."""
    chance = random.Random(name)
    for number in range(1_000_000):
        if number % 4 == 3:
            answer = api.post(STATE, {"metadata": {"userPhone": f"{name}-{number}"}})
            yield {"merged": True} if accepted(answer) else {"refused": "merge"}
            continue
        own, size = f"{name}-{number}", chance.choice([SMALL, *[LARGE] * 5])
        texts = [base64.b64encode(chance.randbytes(size)).decode() for _ in range(TEXTS)]
        items = [*({"write": own, "text": text} for text in texts), {"write": own, "sum": digest(texts)}]
        messages = [{"item": item, "ts": place} for place, item in enumerate(items, 1)]
        answer = api.post(STATE, {"turns": [{"from": "bot", "messages": messages}], "metadata": {"userName": own}})
        if accepted(answer):
            assert whole(answer.json["turns"]) == own
            old = answer.json["oldTurns"]
            yield {"wrote": own, "after": whole(old) if old else None}
        else:
            yield {"refused": "write"}


def read(api: Api) -> Iterator[dict[str, Any]]:
    """Read the conversation again and again: its turns and its metadata are those of one write."""
    while True:
        answer = api.post(STATE, {})
        if accepted(answer):
            name = whole(answer.json["turns"])
            assert answer.json["chatState"]["userName"] == name
            assert answer.json["chatState"]["messagesNum"] == TEXTS + 1
            yield {"read": name}
        else:
            yield {"refused": "read"}


def dawdle() -> None:
    """Let others write between a conversation's item and its chunks: the engine here answers sooner than a cloud."""
    at_once = turns._read_chunks

    def late(row: store.ConversationRow, wanted: dict[int, turns.Chunk]) -> dict[int, bytes]:
        time.sleep(random.uniform(0, 0.5))
        return at_once(row, wanted)

    turns._read_chunks = late


def accepted(answer: Answer) -> bool:
    """Whether it was done; if not, somebody was faster, and the answer says so."""
    assert answer.status in (200, 409), answer.text[:500]
    return answer.status == 200


def whole(turns: list[dict[str, Any]]) -> str:
    """The name of the write that these turns are, every one of it."""
    *parts, last = [turn["messages"]["item"] for turn in turns]
    assert last["sum"] == digest([part["text"] for part in parts]), "a part of a write"
    (name,) = {part["write"] for part in (*parts, last)}
    return str(name)


def digest(texts: list[str]) -> str:
    """A sum over texts and their order."""
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def at_once(threads: int, each: int, deeds: Callable[[int], Iterator[dict[str, Any]]]) -> None:
    """Print what each thread's deeds give, a list for each, until so many of each were accepted."""

    def some(thread: int) -> list[dict[str, Any]]:
        done, accepted = [], 0
        for deed in deeds(thread):
            done.append(deed)
            accepted += "refused" not in deed
            if accepted == each:
                break
        return done

    with ThreadPoolExecutor(threads) as pool:
        for done in pool.map(some, range(threads)):
            print(json.dumps(done))


if __name__ == "__main__":
    logging.getLogger("chalicelib.telemetry").setLevel(logging.WARNING)  # what is printed here is read
    action, token, *rest = sys.argv[1:]
    if action == "write":
        at_once(int(rest[1]), int(rest[2]), lambda thread: write(Api(token), f"{rest[0]}-{thread}"))
    else:
        dawdle()
        at_once(int(rest[0]), int(rest[1]), lambda _: read(Api(token)))
