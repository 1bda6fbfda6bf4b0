"""Races between bots' replies, a person's takeover and the user's next message, in every order of reads and writes.

All requests pass through the whole service in one thread. Before or after a request commits, another request may run
from start to end, so a race needs no threads, and a seed repeats it. A request that loses its conditional write reads
again, and other requests may run again before its next commit.
"""

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import pytest

from chalicelib import clock
from chalicelib.conversations import store, transcript
from chalicelib.storage.unit import Unit
from tests import moto_tables
from tests.api import Answer, Api
from tests.reliability.dictionary_engine import DictionaryEngine

EDGE, V3 = "/agents/support/interact/ann", "/v3/agents/support/convos/ann"
QUESTION, REPLY, NEXT = "question", "reply", "next"
_TAKEOVERS: tuple[tuple[str, str, Any], ...] = (
    ("PATCH", V3, {"conversation": {"state": store.WITH_PERSON}}),
    ("POST", f"{V3}/assign", {"assignToUserId": "bo"}),
    ("POST", f"{EDGE}/state", {"metadata": {"state": store.WITH_PERSON}}),
)
_TABLE = "cams-conversations"


def message(mid: str, sender: str) -> dict[str, Any]:
    """Return a message."""
    return {"mid": mid, "from": sender, "type": "text", "item": {"text": mid}}


def ask_question(api: Api) -> None:
    """Create the only conversation, which contains a question, and the agent and client of the races."""
    question = {"messages": [message(QUESTION, "human")]}
    for path, body in (("/v2/agents/support", {}), ("/v2/clients/bo", {}), (f"{EDGE}/messages", question)):
        assert api.post(path, body).status == 200


class MotoConversation:
    """The stored item of the only conversation in moto's table."""

    def __init__(self) -> None:
        """Remember the current item."""
        self._table = moto_tables.tables()[_TABLE]
        ((self._key, held),) = self._table.items.items()
        self._before = dict(held)

    def restore(self) -> None:
        """Restore the item, and drop its history."""
        self._table.items[self._key] = dict(self._before)
        self._table.stream_shard.items.clear()

    def read(self) -> dict[str, Any]:
        """Return the item."""
        (item,) = self._table.items[self._key].values()
        attributes: dict[str, Any] = item.to_json()["Attributes"]
        return attributes


class DictionaryConversation:
    """The stored item of the only conversation in a dictionary engine."""

    def __init__(self, engine: DictionaryEngine) -> None:
        """Remember the current item."""
        self._items = engine.items[_TABLE]
        ((self._key, self._before),) = self._items.items()

    def restore(self) -> None:
        """Restore the item."""
        self._items[self._key] = self._before

    def read(self) -> dict[str, Any]:
        """Return the item."""
        return self._items[self._key]


class Races:
    """Races in the conversation. `outcomes` counts how the replies ended, and those with more than one attempt."""

    def __init__(self, api: Api, seed: int) -> None:
        """Prepare races after `ask_question`. `seed` determines all of them."""
        self._api, self._random = api, random.Random(seed)
        self.outcomes: Counter[str] = Counter()
        self._waiting: list[Callable[[], None]] = []
        self._attempts = 0
        self._conversation: MotoConversation | DictionaryConversation = MotoConversation()

    @contextmanager
    def on_moto(self) -> Iterator[None]:
        """Run waiting requests before and after each commit inside the block, and skip pauses."""
        commit, limit = Unit.commit, sys.getrecursionlimit()

        def commit_among_others(unit: Unit) -> None:
            self._attempts += 1
            self._run_some()
            commit(unit)
            self._run_some()

        sys.setrecursionlimit(20_000)  # requests run inside each other
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(Unit, "commit", commit_among_others)
            patch.setattr(clock, "sleep", lambda _: None)
            yield
        sys.setrecursionlimit(limit)

    @contextmanager
    def on_dictionaries(self) -> Iterator[None]:
        """Like `on_moto`, but with a faster engine that contains the same records."""
        engine = DictionaryEngine()
        self._conversation = DictionaryConversation(engine)
        with engine.serving(), self.on_moto():
            yield

    def run(self, bots: int = 1) -> None:
        """Run a race between the replies of `bots`, a takeover and, in every other race, the user's next message.

        Assert that at most one reply was stored, directly after the question and before the takeover was acknowledged.
        """
        answers: list[Answer] = []
        at_takeover: list[list[str]] = []
        takeover = self._random.choice(_TAKEOVERS)

        def reply(mid: str) -> None:
            path, others = self._random.choice((EDGE, V3)), self._attempts
            self._attempts = 0
            answer = self._api.post(f"{path}/messages", {"messages": [message(mid, "bot")], "inReplyTo": QUESTION})
            self.outcomes[answer.json.get("code", "stored")] += 1
            self.outcomes["repeated"] += self._attempts > 1
            self._attempts = others
            answers.append(answer)

        def take_over() -> None:
            assert self._api.call(*takeover).status == 200
            at_takeover.append(self._mids())

        def ask_again() -> None:
            assert self._api.post(f"{EDGE}/messages", {"messages": [message(NEXT, "human")]}).status == 200

        self._waiting = [partial(reply, f"{REPLY}{number}") for number in range(bots)]
        self._waiting += [take_over, ask_again][: self._random.randint(1, 2)]
        self._random.shuffle(self._waiting)
        while self._waiting:
            self._waiting.pop()()
        check(answers, at_takeover[0], self._mids())
        self._conversation.restore()

    def _run_some(self) -> None:
        while self._waiting and self._random.random() < 0.5:
            self._waiting.pop()()

    def _mids(self) -> list[str]:
        """Return the stored message ids in order, without a request."""
        row = store.ConversationRow.from_raw_data(self._conversation.read())
        return [one["mid"] for one in transcript.last_messages(row)][::-1]


def check(answers: list[Answer], at_takeover: list[str], mids: list[str]) -> None:
    """Check the messages at the takeover and at the end of a race."""
    stored = [mid for mid in mids if mid.startswith(REPLY)]
    assert stored == [mid for mid in at_takeover if mid.startswith(REPLY)], "a reply follows the takeover"
    assert len(stored) == sum(answer.status == 200 for answer in answers) <= 1
    assert {answer.json["code"] for answer in answers if answer.status != 200} <= {"HUMAN_CHATTING", "OUTDATED"}
    assert not stored or mids[:2] == [QUESTION, *stored], "a reply follows another message"
