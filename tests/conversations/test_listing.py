"""The conversation list: 20 per page, newest first (§4.2)."""

from collections.abc import Sequence
from itertools import count, pairwise
from typing import Any

import pytest

from chalicelib import clock, errors, storage
from chalicelib.conversations import listing, store
from chalicelib.conversations.state import State, empty_state
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.assertions import refused
from tests.clients.test_clients import noise
from tests.engine_requests import counted
from tests.selection import first_case, whole

LIST = "/v2/agents/support/convos"


@pytest.fixture(autouse=True)
def agent(agent_id: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Create the agent `support`.

    Advance the clock at each reading, because ULIDs from the same millisecond are unordered.
    """
    moments = count(clock.milliseconds())
    monkeypatch.setattr(clock, "milliseconds", lambda: next(moments))


def create(workspace: NewWorkspace, number: int) -> None:
    for index in range(number):
        state = State({**empty_state(f"c{index}").metadata, "ts": index}, b"[]")
        with storage.unit_of_work():
            store.create(workspace.workspace_id, "support", f"c{index}", state)


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


@first_case
@pytest.mark.parametrize("cursor", ["a%23b", "%ff"], ids=["a separator of keys", "no text"])
def test_a_malformed_cursor_is_refused(cursor: str, api: Api) -> None:
    refused(api.get(f"{LIST}?cursor={cursor}"), 400, "cursor")


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


def test_pages_and_cursors_have_every_conversation_once_after_deletions(api: Api, workspace: NewWorkspace) -> None:
    create(workspace, 50)
    left = newest_first(50)
    for gone in ("c49", "c42", "c41", "c28", "c0"):
        assert api.delete(f"/v3/agents/support/convos/{gone}").status == 200
        left.remove(gone)
    pages = [api.get(f"{LIST}?page={page}") for page in (1, 2, 3)]
    assert ids([one for page in pages for one in page.data]) == left
    for page, following in pairwise(pages):
        assert api.get(f"{LIST}?cursor={page.json['nextCursor']}").data == following.data
    assert "nextCursor" not in pages[-1].json


def test_a_page_far_behind_the_end_is_empty(api: Api, workspace: NewWorkspace) -> None:
    create(workspace, 3)
    assert api.get(f"{LIST}?page=999999999").data == []


def test_skipping_in_several_requests_reaches_the_same_page(
    api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(workspace, 45)
    monkeypatch.setattr(listing, "_CHUNK", 30)
    assert ids(api.get(f"{LIST}?page=3").data) == newest_first(45)[40:]


def test_a_cursor_costs_the_same_at_any_depth(api: Api, workspace: NewWorkspace) -> None:
    create(workspace, 60)
    costs, cursor = [], ""
    for _ in range(3):
        with counted() as requests:
            answer = api.get(LIST + cursor)
        costs.append(dict(requests))
        cursor = f"?cursor={answer.json.get('nextCursor')}"
    assert costs == [{"GetItem": 1, "Query": 1}] * 3


def test_metadata_that_is_too_long_for_the_index_is_read_in_one_request(api: Api, workspace: NewWorkspace) -> None:
    create(workspace, 5)
    names = {"c1": noise(1_500), "c3": noise(2_000)}
    for conversation_id, name in names.items():
        path = f"/agents/support/interact/{conversation_id}/state"
        assert api.post(path, {"metadata": {"userName": name}}).status == 200
    with counted() as requests:
        shown = {one["ID"]: one.get("userName") for one in api.get(LIST).data}
    assert list(shown) == newest_first(5)
    assert {name: value for name, value in shown.items() if value} == names
    assert requests == {"GetItem": 1, "BatchGetItem": 1, "Query": 1}


@pytest.mark.parametrize("lengths", [(10, 2_000), (2_000, 10), (2_000, 3_000)], ids=["longer", "shorter", "still long"])
def test_metadata_is_stored_once_and_in_the_index_only_if_short(
    lengths: tuple[int, int], api: Api, workspace: NewWorkspace
) -> None:
    for length in lengths:
        name = noise(length)
        api.post("/agents/support/interact/ann/state", {"metadata": {"userName": name}})
        row: Any = storage.find(*store.key(workspace.workspace_id, "support", "ann")[:3])
        assert (row.summary is None, row.metadata is None) == (length > 1_024, length <= 1_024)
        assert store.read_metadata(row)["userName"] == name
        assert api.get(LIST).data[0]["userName"] == name


def test_a_conversation_that_is_deleted_while_the_list_is_read_is_left_out(
    api: Api, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(workspace, 21)
    api.post("/agents/support/interact/c5/state", {"metadata": {"userName": noise(2_000)}})
    with_metadata = listing.with_metadata

    def delete_first(entries: Any) -> Any:
        assert api.delete("/v3/agents/support/convos/c5").status == 200
        return with_metadata(entries)

    monkeypatch.setattr(listing, "with_metadata", delete_first)
    answer = api.get(LIST)
    monkeypatch.setattr(listing, "with_metadata", with_metadata)
    assert ids(answer.data) == [one for one in newest_first(21)[:20] if one != "c5"]
    assert ids(api.get(f"{LIST}?cursor={answer.json['nextCursor']}").data) == ["c0"]


@whole
def test_a_page_of_the_largest_metadata_fits_an_answer(api: Api) -> None:
    names = ["\N{GRINNING FACE}" * 15_900, '"' * 31_500]  # each character takes twelve bytes, or four
    for number in range(20):
        path = f"/agents/support/interact/c{number}/state"
        assert api.post(path, {"metadata": {"userName": names[number % 2]}}).status == 200
        assert api.post(path, {"metadata": {"userName": names[number % 2] * 2}}).status == 413
    assert [one["userName"] for one in api.get(LIST).data] == names[::-1] * 10


def test_a_row_of_the_index_cannot_be_saved(workspace: NewWorkspace) -> None:
    create(workspace, 1)
    (row,) = listing._older(workspace.workspace_id, "support", None, 1)
    with pytest.raises((storage.ConditionFailed, errors.ApiError, ValueError)), storage.unit_of_work():
        storage.put(row)
