"""Random changes to a conversation, read by pages that lose and repeat delta reads.

Chunks are small, so that messages often move into chunks. After each read, a page must have exactly the stored
messages, or the end of them if the page was reset.
"""

import random
from typing import Any

import pytest

from chalicelib.conversations.transcript import turns
from tests.api import Api
from tests.builders import message
from tests.conftest import PassTime
from tests.selection import whole

MESSAGES, V3 = "/agents/support/interact/ann/messages", "/v3/agents/support/convos/ann"
TEXTS = ("", "é", '"}]},{\\', "x" * 130, "y" * 130, "ü" * 300)
PAGES = 3


class Page:
    """A page that shows a conversation. With `polls`, it sends the version, so the index may answer."""

    def __init__(self, api: Api, *, polls: bool) -> None:
        self.api, self.polls, self.after, self.version = api, polls, "", ""
        self.messages: list[Any] = []
        self.is_complete = False
        self.resets = self.deltas = 0

    def pull(self) -> Any:
        """Read, and return the response without applying it."""
        version = f"&version={self.version}" if self.polls else ""
        return self.api.get(f"{MESSAGES}?after={self.after}{version}").json

    def apply(self, answer: Any) -> None:
        """Show the messages in a response."""
        if answer["reset"]:
            self.messages, self.is_complete = [], len(answer["data"]) < 50
        self.resets += answer["reset"]
        self.deltas += bool(answer["data"]) and not answer["reset"]
        self.messages += answer["data"]
        self.after, self.version = answer["after"], answer["version"]

    def check(self, stored: list[Any]) -> None:
        """Assert that the page shows these messages, at least the newest 50, and no message twice."""
        assert self.messages == stored[len(stored) - len(self.messages) :]
        assert len(self.messages) >= min(50, len(stored)) if not self.is_complete else self.messages == stored
        mids = [one["mid"] for one in self.messages]
        assert len(mids) == len({*mids})


def change(rng: random.Random, api: Api, stored: list[Any], number: int) -> None:
    """Send a random change, and apply it to `stored`."""
    kind = rng.choices(("add", "edit", "delete", "replace", "metadata"), (80, 5, 5, 1, 15))[0]
    known = [one["mid"] for one in stored]
    if kind == "add" or not known:
        sent = [
            message(rng.choice(TEXTS), mid=f"{number}-{place}", ts=1, **{"from": rng.choice(["human", "bot"])})
            for place in range(rng.randint(1, 4))
        ]
        repeated = [*stored[-3:]] if rng.random() < 0.2 else []
        assert api.post(MESSAGES, {"messages": [*sent, *repeated]}).data == [*sent, *repeated]
        stored += sent
    elif kind == "edit":
        place = rng.randrange(max(0, len(known) - 10), len(known))
        item = {"text": rng.choice(TEXTS), "number": number}
        stored[place] = api.patch(f"{V3}/messages/{known[place]}", {"message": {"item": item}}).data
        assert stored[place]["item"] == item
    elif kind == "delete":
        place = rng.choice([len(known) - 1, rng.randrange(len(known))])
        assert api.delete(f"{V3}/messages/{known[place]}").status == 200
        del stored[place]
    elif kind == "replace":
        stored[:] = stored[rng.randrange(len(stored)) :]
        assert api.patch(f"{V3}/messages", {"turns": [{"messages": stored}]}).status == 200
    else:
        assert api.patch(V3, {"conversation": {"state": f"state {number}"}}).status == 200


def run(api: Api, pass_time: PassTime, changes: int, seed: int) -> list[Page]:
    """Send changes, and read them with pages that lose half of the responses and apply a quarter of them late."""
    rng, stored = random.Random(seed), list[Any]()
    pages = [Page(api, polls=bool(place % 2)) for place in range(PAGES)]
    assert api.post("/agents/support/interact/ann/state", {"turns": []}).status == 200
    for number in range(changes):
        change(rng, api, stored, number)
        pass_time(rng.choice([0, 1, 60]))
        page = rng.choice(pages)
        if rng.random() < 0.1:  # the page's own message
            mine = message("mine", mid=f"own-{number}", ts=1, **{"from": "human"})
            sent = api.post(f"{MESSAGES}?after={page.after}", {"messages": [mine]})
            stored.append(mine)
            if rng.random() < 0.5:  # the response was lost, so the page repeats the request
                sent = api.post(f"{MESSAGES}?after={page.after}", {"messages": [mine]})
            page.apply(sent.json)
            page.check(stored)
        if rng.random() < 0.5:
            page.pull()  # the response is lost
        for _ in range(rng.choice([0, 1, 1, 2])):
            page.apply(page.pull())
            page.check(stored)
    for page in pages:
        page.apply(page.pull())
        page.check(stored)
    return pages


@pytest.fixture(autouse=True)
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit chunks to 6,000 bytes."""
    monkeypatch.setattr(turns, "_CHUNK_BYTES", 6_000)
    monkeypatch.setattr(turns, "_TAIL_BYTES", 500)


def test_pages_show_the_stored_messages(api: Api, pass_time: PassTime) -> None:
    run(api, pass_time, 60, seed=1)


@whole
@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 6))
def test_pages_show_the_stored_messages_after_many_changes(api: Api, pass_time: PassTime, seed: int) -> None:
    pages = run(api, pass_time, 400, seed)
    assert sum(page.deltas for page in pages) > 100
    assert sum(page.resets for page in pages) > 30
