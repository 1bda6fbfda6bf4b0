"""Concurrent writers of one conversation: merges are retried, and replacements conflict."""

import os
from typing import Any

import pytest

from chalicelib.conversations import store
from tests.api import Api
from tests.conversations.turns import STATE, items, message, mids, turns
from tests.selection import first_case


def interrupted(monkeypatch: pytest.MonkeyPatch, times: int, write: Any) -> None:
    """Simulate a concurrent writer: call `write` between the read and the save of the first `times` attempts."""
    real, left = store.save, [times]

    def save(*arguments: Any) -> None:
        if left[0]:
            left[0] -= 1
            monkeypatch.setattr(store, "save", real)
            write()
            monkeypatch.setattr(store, "save", save)
        real(*arguments)

    monkeypatch.setattr(store, "save", save)


@pytest.mark.parametrize(
    "change", [{"metadata": {"userName": "Ann"}}, {"delete": {"mids": ["a"]}}], ids=["metadata", "delete"]
)
def test_a_merge_is_applied_to_the_version_of_a_concurrent_writer(
    change: Any, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.post(STATE, {"turns": turns(message("a"), message("b"))})
    interrupted(monkeypatch, 3, lambda: api.post(STATE, {"metadata": {"userPhone": os.urandom(4).hex()}}))
    assert api.post(STATE, change).status == 200
    after = api.post(STATE).json
    assert "userPhone" in after["chatState"]
    assert after["chatState"].get("userName") == change.get("metadata", {}).get("userName")


def test_two_concurrent_replacements_of_turns_conflict(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.post(STATE, {"turns": turns(message("a"))})
    interrupted(monkeypatch, 1, lambda: api.post(STATE, {"turns": turns(message("theirs"))}))
    answer = api.post(STATE, {"turns": turns(message("ours"))})
    assert (answer.status, answer.json["code"]) == (409, "STALE")
    assert mids(api.post(STATE)) == ["theirs"]


@pytest.mark.parametrize("condition", [{"If-Match": "*"}, {"If-None-Match": '"other"'}], ids=["any", "all but one"])
def test_a_precondition_without_a_version_does_not_undo_a_concurrent_write(
    condition: dict[str, str], api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.post(STATE, {"turns": turns(message("a"))})
    interrupted(monkeypatch, 1, lambda: api.post(STATE, {"turns": turns(message("theirs"))}))
    headers = {**api._headers, "Content-Type": "application/json", **condition}
    answer = api.call("POST", STATE, {"turns": turns(message("ours"))}, headers)
    assert answer.status == 409
    assert mids(api.post(STATE)) == ["theirs"]


@pytest.mark.parametrize("change", [{"metadata": {"userName": "Ann"}}, {"turns": turns(message("ours"))}], ids=str)
@pytest.mark.parametrize("before", [10, 300_000], ids=["short", "long"])
@first_case
def test_a_recreated_conversation_is_not_mistaken_for_the_deleted_one(
    before: int, change: Any, api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    api.post(STATE, {"turns": turns(message("old", text=os.urandom(before).hex()))})

    def recreate() -> None:
        assert api.delete("/v3/agents/support/convos/user-1").status == 200
        assert api.post(STATE, {"turns": turns(message("new"))}).status == 200

    interrupted(monkeypatch, 1, recreate)
    assert api.post(STATE, change).status == (409 if "turns" in change else 200)
    read = api.post(STATE)
    assert (mids(read), read.json["chatState"].get("userName")) == (["new"], change.get("metadata", {}).get("userName"))
    (listed,) = api.get("/v2/agents/support/convos").data
    assert (listed["ID"], len(items())) == ("user-1", 1)


@pytest.mark.usefixtures("no_pauses")
def test_a_merge_gives_up_after_ten_attempts(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    api.post(STATE, {"turns": turns(message("a"))})
    interrupted(monkeypatch, 99, lambda: api.post(STATE, {"metadata": {"userPhone": os.urandom(4).hex()}}))
    assert api.post(STATE, {"metadata": {"userName": "Ann"}}).status == 409
