"""A process that writes or reads one conversation, for `test_history`. It prints a line of JSON per thread.

Run `python -m tests.reliability.conversation_clients` with one of these actions:

    write TOKEN NAME THREADS EACH    write until each thread has succeeded EACH times
    read TOKEN THREADS EACH          read until each thread has succeeded EACH times

Each write contains a name and a checksum, so that a reader can verify that it received one complete write. The
environment contains the engine's address.
"""

import base64
import hashlib
import json
import logging
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from chalicelib.conversations import store
from chalicelib.conversations.transcript import turns
from tests.api import Answer, Api

STATE = "/agents/support/interact/ann/state"
# Size of a text that fits into the conversation's item, and of a text that needs chunks.
SMALL, LARGE = 100, 110_000
TEXTS = 3


def write(api: Api, name: str) -> Iterator[dict[str, Any]]:
    """Replace the conversation alternately with small and large turns, and change its metadata in between."""
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
    """Read the conversation repeatedly, and check that its turns and metadata belong to the same write."""
    while True:
        answer = api.post(STATE, {})
        if accepted(answer):
            name = whole(answer.json["turns"])
            assert answer.json["chatState"]["userName"] == name
            assert answer.json["chatState"]["messagesNum"] == TEXTS + 1
            yield {"read": name}
        else:
            yield {"refused": "read"}


def delay_chunk_reads() -> None:
    """Delay chunk reads, so that writes occur after the item is read and before its chunks are read."""
    read_chunks = turns._read_chunks

    def late(row: store.ConversationRow, indexes: Sequence[int]) -> dict[int, bytes]:
        time.sleep(random.uniform(0, 0.5))
        return read_chunks(row, indexes)

    turns._read_chunks = late


def accepted(answer: Answer) -> bool:
    """Return whether the request succeeded. Any other response must be a conflict."""
    assert answer.status in (200, 409), answer.text[:500]
    return answer.status == 200


def whole(turns: list[dict[str, Any]]) -> str:
    """Return the name of the write that produced all these turns."""
    *parts, last = [turn["messages"]["item"] for turn in turns]
    assert last["sum"] == digest([part["text"] for part in parts]), "an incomplete write"
    (name,) = {part["write"] for part in (*parts, last)}
    return str(name)


def digest(texts: list[str]) -> str:
    """Return a checksum of the texts and their order."""
    return hashlib.sha256("\n".join(texts).encode()).hexdigest()


def run_threads(threads: int, each: int, actions: Callable[[int], Iterator[dict[str, Any]]]) -> None:
    """Repeat each thread's action until `each` results are accepted, and print the results as a list."""

    def run(thread: int) -> list[dict[str, Any]]:
        done, accepted = [], 0
        for action in actions(thread):
            done.append(action)
            accepted += "refused" not in action
            if accepted == each:
                break
        return done

    with ThreadPoolExecutor(threads) as pool:
        for done in pool.map(run, range(threads)):
            print(json.dumps(done))


if __name__ == "__main__":
    logging.getLogger("chalicelib.telemetry").setLevel(logging.WARNING)  # the test reads this output
    action, token, *rest = sys.argv[1:]
    if action == "write":
        run_threads(int(rest[1]), int(rest[2]), lambda thread: write(Api(token), f"{rest[0]}-{thread}"))
    else:
        delay_chunk_reads()
        run_threads(int(rest[0]), int(rest[1]), lambda _: read(Api(token)))
