"""Random sequences of appends, replacements, edits and deletions, compared with a plain list of messages.

Chunks are small, so that messages often move into chunks, across chunk boundaries and into the index.
"""

import json
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chalicelib import storage
from chalicelib.conversations import store
from chalicelib.conversations.transcript import message_index, turns
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.guarantees import CaseCounter
from tests.selection import whole
from tests.webhooks.pipeline import Stream, events_of

_numbers = count()
_MIDS = [f"m{number}" for number in range(30)]
_mids = st.sampled_from(_MIDS)
_messages = st.fixed_dictionaries(
    {"mid": _mids, "from": st.sampled_from(["human", "bot"])},
    optional={"item": st.fixed_dictionaries({"text": st.sampled_from(["", "é", '"}]},{\\', "x" * 130, "ü" * 500])})},
)
_lists = st.lists(_messages, min_size=1, max_size=8, unique_by=lambda message: message["mid"])
_steps = st.one_of(
    st.tuples(st.just("append"), _lists),
    st.tuples(st.just("append"), _lists),
    st.tuples(st.just("replace"), _lists),
    st.tuples(st.just("shorten"), st.integers(0, 30)),
    st.tuples(st.just("edit"), st.tuples(_mids, st.sampled_from(["", "changed", "y" * 200]))),
    st.tuples(st.just("delete"), _mids),
    st.tuples(st.just("wait"), st.just(100)),
)


class Model:
    """A conversation's messages, every message that it ever received, and the user's messages in order."""

    def __init__(self) -> None:
        self.messages: list[dict[str, Any]] = []
        self.senders: dict[str, set[str]] = {}
        self.events: list[str] = []

    def receive(self, messages: list[dict[str, Any]]) -> None:
        for message in messages:
            senders = self.senders.setdefault(message["mid"], set())
            if message["from"] == "human" and "human" not in senders:
                self.events.append(message["mid"])
            senders.add(message["from"])

    def append(self, messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
        stored = {message["mid"]: message for message in self.messages}
        new = [message for message in messages if message["mid"] not in stored]
        self.receive(new)
        self.messages += new
        return [stored.get(message["mid"], message) for message in messages]

    def replace(self, messages: list[dict[str, Any]]) -> None:
        self.receive(messages)
        self.messages = messages

    def position(self, mid: str) -> int | None:
        return next((index for index, message in enumerate(self.messages) if message["mid"] == mid), None)


def with_items(messages: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the messages as the message routes do, with an empty `item` by default."""
    return [{"item": {}, **message} for message in messages]


@pytest.fixture
def small_chunks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Limit chunks to 600 bytes, and index at most four messages at once."""
    monkeypatch.setattr(turns, "_CHUNK_BYTES", 600)
    monkeypatch.setattr(turns, "_TAIL_BYTES", 100)
    monkeypatch.setattr(message_index, "_MAX_ITEMS", 4)


@whole
@pytest.mark.long
@pytest.mark.guarantee("model")
@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(_steps, min_size=12, max_size=25))
def test_messages_are_those_of_a_list(
    steps: list[Any], api: Api, agent_id: str, workspace: NewWorkspace, pass_time: Any,
    small_chunks: None, count_cases: CaseCounter,
) -> None:  # fmt: skip
    stream, name, model = Stream(), f"c{next(_numbers)}", Model()
    edge, v3 = f"/agents/support/interact/{name}", f"/v3/agents/support/convos/{name}/messages"
    api.post(f"{edge}/state", {"turns": []})
    for step, what in steps:
        if step == "append":
            messages = [{**message, "ts": 1} for message in what]
            answer = api.post(f"{edge}/messages", {"messages": messages})
            assert answer.data == with_items(model.append(messages))
        elif step == "replace":
            messages = [{**message, "ts": 1} for message in what]
            answer = api.patch(
                v3, {"turns": [{"from": message["from"], "messages": [message]} for message in messages]}
            )
            model.replace(messages)
            assert answer.data == with_items(messages)
        elif step == "shorten":  # the request to the state route contains some of the stored messages and a new message
            kept = [*model.messages[:what], *model.messages[what + 1 :]]
            body = {"turns": [{"from": message["from"], "messages": [message]} for message in kept]}
            answer = api.post(f"{edge}/state", body)
            model.replace(kept)
        elif step == "edit":
            mid, text = what
            answer = api.patch(f"{v3}/{mid}", {"message": {"item": {"text": text}}})
            position = model.position(mid)
            assert answer.status == (404 if position is None else 200)
            if position is not None:
                model.messages[position] = {**model.messages[position], "item": {"text": text}}
                assert answer.data == model.messages[position]
        elif step == "delete":
            position = model.position(what)
            answer = api.delete(f"{v3}/{what}")
            assert answer.status == (404 if position is None else 200)
            if position is not None:
                del model.messages[position]
        else:
            pass_time(what)
    state = api.post(f"{edge}/state").json
    assert [turn["messages"] for turn in state["turns"]] == model.messages
    received = [event for event in events_of(stream.read("conversations")) if event.type == "message_received"]
    assert len(received) == len(model.events)
    counts = {
        "messagesNum": len(model.messages),
        "interactionsNum": sum(message["from"] == "human" for message in model.messages),
    }
    assert {member: state["chatState"][member] for member in counts} == counts
    row: Any = storage.find(*store.key(workspace.workspace_id, "support", name)[:3])
    assert json.loads(turns.read_state(row).turns) == state["turns"]
    count_cases(states=len(steps))
