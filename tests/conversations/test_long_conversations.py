"""Turns that are too large for one item: how they are split into chunks, rewritten and read."""

import copy
import os
from collections.abc import Callable
from typing import Any

import pytest

from chalicelib import storage
from chalicelib.conversations import store
from chalicelib.conversations.state import MAX_TURNS_BYTES, State
from chalicelib.conversations.transcript import turns as turns_
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.capacity import metered
from tests.conversations.turns import STATE, items, long_turns, message, mids, turns
from tests.selection import first_case


def sent_back(read: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Convert response turns to request turns."""
    return [{**turn, "messages": [turn["messages"]]} for turn in read]


def chunk_items() -> list[dict[str, Any]]:
    return [item for item in items() if item["item"]["S"].startswith("turns#")]


def test_every_item_of_a_long_conversation_is_below_the_item_limit(api: Api) -> None:
    api.post(STATE, {"turns": long_turns(MAX_TURNS_BYTES)})
    assert len(chunk_items()) > 2
    assert max(len(item["part"]["B"]) for item in chunk_items()) < 400_000


def test_a_conversation_that_becomes_short_has_no_chunks(api: Api) -> None:
    api.post(STATE, {"turns": long_turns(MAX_TURNS_BYTES)})
    api.post(STATE, {"turns": turns(message("a"))})
    assert chunk_items() == []
    assert mids(api.post(STATE)) == ["a"]


def test_a_long_conversation_that_becomes_shorter_has_fewer_chunks(api: Api) -> None:
    api.post(STATE, {"turns": long_turns(MAX_TURNS_BYTES)})
    before = len(chunk_items())
    sent = long_turns(MAX_TURNS_BYTES // 4, "b")
    api.post(STATE, {"turns": sent})
    assert len(chunk_items()) < before
    assert mids(api.post(STATE)) == [one["mid"] for one in sent[0]["messages"]]


def test_appending_to_a_long_conversation_writes_only_its_own_item(api: Api) -> None:
    sent = long_turns(MAX_TURNS_BYTES // 2)
    read = api.post(STATE, {"turns": sent}).json["turns"]
    before = chunk_items()
    assert len(before) > 10
    with metered() as meter:
        grown = api.post(STATE, {"turns": [*sent_back(read), *turns(message("new"))]})
    assert meter.requests == {"BatchGetItem": 1, "PutItem": 1}
    assert meter.reads < 20
    assert meter.writes < 40
    assert chunk_items() == before
    assert grown.json["oldTurns"] == read
    assert mids(api.post(STATE)) == [*(turn["messages"]["mid"] for turn in read), "new"]


def test_a_change_in_the_middle_of_a_long_conversation_rewrites_only_the_later_chunks(api: Api) -> None:
    read = api.post(STATE, {"turns": long_turns(MAX_TURNS_BYTES // 2)}).json["turns"]
    before = chunk_items()
    gone = read.pop(len(read) // 2)["messages"]["mid"]
    assert mids(api.post(STATE, {"delete": {"mids": [gone]}})) == [turn["messages"]["mid"] for turn in read]
    kept = [item for item in chunk_items() if item in before]
    assert abs(len(kept) - len(before) // 2) < 3
    assert mids(api.post(STATE)) == [turn["messages"]["mid"] for turn in read]


@pytest.mark.parametrize("step", [200_000, 25_000, 2_000_000])
@first_case
def test_a_growing_conversation_never_has_more_items_than_a_transaction(workspace: NewWorkspace, step: int) -> None:
    """A single transaction of at most 100 items deletes a conversation. 2 MiB of turns may take up 5.5 MB."""
    row = store.ConversationRow(storage.join_key(workspace.workspace_id, "support", "user-1"))
    text = os.urandom(3_000_000).hex().encode()
    for end in range(step, len(text) + 1, step):
        with storage.unit_of_work() as unit:
            turns_.stage(row, text[: end - step], State({}, text[:end]))
            unit.discard()
        assert len(turns_.chunks(row)) < 75
        assert end - sum(chunk.length for chunk in turns_.chunks(row)) > 8_000  # leaves room to rewrite the last turns
        assert len(row.turns) < 300_000


def test_a_chunk_may_end_within_a_character(api: Api) -> None:
    sent = turns(message("a"), message("b", text="x" + "".join(map(chr, range(0x10000, 0x10000 + 40_000)))))
    api.post(STATE, {"turns": sent})
    assert chunk_items()
    assert api.post(STATE).json["turns"][1]["messages"] == sent[0]["messages"][1]


def test_merging_metadata_of_a_long_conversation_does_not_rewrite_its_turns(api: Api) -> None:
    api.post(STATE, {"turns": long_turns(MAX_TURNS_BYTES // 2)})
    before = chunk_items()
    api.post(STATE, {"metadata": {"userName": "Ann"}})
    assert chunk_items() == before
    assert api.post(STATE).json["chatState"]["userName"] == "Ann"


find_many = storage.find_many


def eventual_reads(monkeypatch: pytest.MonkeyPatch, read: Callable[[Any], Any]) -> None:
    """Replace eventually consistent batch reads of chunks with `read`."""

    def replaced(keys: Any) -> Any:
        is_eventual = any(key.row is store.ChunkRow and not key.consistent for key in keys)
        return read(keys) if is_eventual else find_many(keys)

    monkeypatch.setattr(storage, "find_many", replaced)


def test_a_reader_never_combines_chunks_of_two_writes(
    api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.post(STATE, {"turns": long_turns(MAX_TURNS_BYTES // 2, "a")})
    others = iter([long_turns(MAX_TURNS_BYTES // 2 - 100_000, "b")])

    def write_first(keys: Any) -> Any:
        for other in others:
            api.post(STATE, {"turns": other})
        return find_many(keys)

    eventual_reads(monkeypatch, write_first)
    read = api.post(STATE)
    assert read.status == 200
    assert {mid[0] for mid in mids(read)} == {"b"}
    assert read.json["chatState"]["messagesNum"] == len(mids(read))


def test_a_stale_chunk_is_read_again_with_strong_consistency(
    api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An eventually consistent read may miss the last write, whether it created or replaced the chunk."""
    seen = []

    def stale_read(keys: Any) -> Any:
        seen.append(len(keys))
        return [stale.get(key.sort) for key in keys]

    api.post(STATE, {"turns": long_turns(MAX_TURNS_BYTES // 4, "a")})
    row = storage.find(*store.key(workspace.workspace_id, "support", "user-1")[:3])
    stale = {
        one.item: one
        for one in find_many(
            [storage.Key(store.ChunkRow, one.conversation, one.item) for one in turns_.chunk_rows(row)]
        )
    }
    sent = api.post(STATE, {"turns": long_turns(MAX_TURNS_BYTES // 2, "b")}).json["turns"]
    eventual_reads(monkeypatch, stale_read)
    assert len(stale) < len(chunk_items())
    with metered() as meter:
        assert api.post(STATE).json["turns"] == sent
    assert seen == [len(chunk_items())]
    assert meter.requests == {"BatchGetItem": 2}


def test_a_replacement_reads_only_the_chunks_that_it_changes(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    read = api.post(STATE, {"turns": long_turns(MAX_TURNS_BYTES // 2)}).json["turns"]
    counts: list[int] = []
    eventual_reads(monkeypatch, lambda keys: counts.append(len(keys)) or find_many(keys))
    middle = len(read) // 2
    other = read[middle]["messages"]["item"]["payload"]["message"]
    sent = copy.deepcopy(sent_back(read))
    sent[middle]["messages"][0]["item"]["payload"]["message"] = "y" * len(other)
    assert api.post(STATE, {"turns": sent}).json["oldTurns"] == read
    assert counts in ([1], [2])
