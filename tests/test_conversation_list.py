"""The list of conversations: 20 per page, newest first, each conversation once (§4.2)."""

from collections.abc import Sequence
from typing import Any

import pytest

from chalicelib import storage
from chalicelib.conversations import listing, store
from chalicelib.conversations.state import State, empty
from chalicelib.storage import sequence
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.selection import one_of_each

LIST = "/v2/agents/support/convos"


@pytest.fixture(autouse=True)
def agent(agent_id: str) -> None:
    """The agent `support`, for every test of this module."""


def create(workspace: NewWorkspace, number: int) -> None:
    for index in range(number):
        last: Any = sequence.find(workspace.workspace_id, "support")
        state = State({**empty(f"c{index}").metadata, "ts": index}, b"[]")
        with storage.unit_of_work():
            store.create(workspace.workspace_id, "support", f"c{index}", state, last)


def ids(conversations: Sequence[dict[str, Any]]) -> list[str]:
    return [one["ID"] for one in conversations]


def newest_first(high: int) -> list[str]:
    return [f"c{index}" for index in reversed(range(high))]


def test_an_agent_without_conversations_has_an_empty_page(api: Api) -> None:
    answer = api.get(LIST)
    assert answer.data == []
    assert answer.json["message"] == "Agent conversations retrieved successfully"
    assert "nextCursor" not in answer.json


def test_the_pages_have_every_conversation_once_newest_first(api: Api, workspace: NewWorkspace) -> None:
    create(workspace, 45)
    pages = [api.get(f"{LIST}?page={page}").data for page in (1, 2, 3, 4)]
    assert [len(page) for page in pages] == [20, 20, 5, 0]
    assert ids([one for page in pages for one in page]) == newest_first(45)


def test_the_first_page_is_the_default(api: Api, workspace: NewWorkspace) -> None:
    create(workspace, 21)
    assert api.get(LIST).data == api.get(f"{LIST}?page=1").data


def test_a_cursor_is_not_affected_by_new_conversations(api: Api, workspace: NewWorkspace) -> None:
    create(workspace, 41)
    seen, cursor = [], None
    while True:
        answer = api.get(LIST if cursor is None else f"{LIST}?cursor={cursor}")
        seen += ids(answer.data)
        api.post("/v3/agents/support/convos", {"conversation": {}})
        cursor = answer.json.get("nextCursor")
        if cursor is None:
            break
    assert seen == newest_first(41)


def test_the_last_page_has_no_cursor(api: Api, workspace: NewWorkspace) -> None:
    create(workspace, 20)
    assert "nextCursor" not in api.get(LIST).json


@one_of_each(lambda: None)
@pytest.mark.parametrize(
    "cursor", ["x", "MA", "eA", "%ff", "LTE"], ids=["not encoded", "0", "a letter", "no text", "-1"]
)
def test_a_malformed_cursor_is_refused_or_gives_an_empty_page(cursor: str, api: Api) -> None:
    answer = api.get(f"{LIST}?cursor={cursor}")
    assert answer.status == 400 or answer.data == []


def test_the_list_of_an_unknown_agent_is_404(api: Api) -> None:
    assert api.get("/v2/agents/unknown/convos").status == 404


def test_an_entry_has_only_members_of_the_metadata(api: Api) -> None:
    api.post("/v3/agents/support/convos", {"conversation": {"title": "First", "ts": 5}})
    (entry,) = api.get(LIST).data
    assert set(entry) == {"ID", "userID", "ts", "messagesNum", "interactionsNum", "lastModified"}


def test_an_entry_shows_the_current_metadata(api: Api) -> None:
    api.post("/agents/support/interact/ann/state", {"metadata": {"userName": "Ann", "origin": "chatapp"}})
    api.post("/agents/support/interact/ann/state", {"metadata": {"userName": "Anna"}})
    (entry,) = api.get(LIST).data
    assert (entry["userName"], entry["origin"]) == ("Anna", "chatapp")


@pytest.mark.parametrize("behind", [1, 7, 20], ids=["one", "a few", "a whole page"])
def test_conversations_that_the_index_does_not_show_yet_are_on_the_page(
    behind: int, api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(workspace, 45)
    real = store._indexed

    def lagging_index(agent: str, numbers: range) -> dict[int, Any]:
        return {number: row for number, row in real(agent, numbers).items() if number <= 45 - behind}

    monkeypatch.setattr(store, "_indexed", lagging_index)
    assert ids(api.get(LIST).data) == newest_first(45)[:20]


def test_a_page_is_503_rather_than_short_when_the_index_is_far_behind(
    api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(workspace, 60)
    monkeypatch.setattr(store, "_indexed", lambda agent, numbers: {})
    monkeypatch.setattr(storage, "pause", lambda attempt: None)
    assert api.get(f"{LIST}?page=3").status == 503


@one_of_each(lambda high: high > 20)
@pytest.mark.parametrize("high", [0, 1, 19, 20, 21, 40, 41, 1001])
def test_the_pages_have_every_number_once(high: int) -> None:
    pages = [listing.Numbers(high).page(page) for page in range(1, high // 20 + 2)]
    assert [number for page in pages for number in page] == list(range(high, 0, -1))
    assert all(len(page) == 20 for page in pages[:-1])


def test_a_page_does_not_wait_for_a_conversation_that_is_deleted_concurrently(
    api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(workspace, 3)
    real = store._indexed

    def delete_first(agent: str, numbers: Sequence[int]) -> dict[int, Any]:
        monkeypatch.setattr(store, "_indexed", real)
        assert api.delete("/v3/agents/support/convos/c1").status == 200
        return real(agent, numbers)

    monkeypatch.setattr(store, "_indexed", delete_first)
    assert ids(api.get(LIST).data) == ["c2", "c0"]
