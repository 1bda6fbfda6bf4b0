"""The inbox: the conversations that are waiting for a person, and the attributes that add them to a sparse index."""

from typing import Any

import pytest

from chalicelib import storage
from chalicelib.conversations import store, transcript
from chalicelib.conversations.state import State
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.conftest import PassTime
from tests.selection import first_case

STATE = "/agents/support/interact/ann/state"


@pytest.fixture(autouse=True)
def agent(agent_id: str) -> None:
    """Create the agent `support` for every test in this module."""


def row_of(workspace: NewWorkspace, conversation_id: str = "ann") -> Any:
    return storage.find(*store.key(workspace.workspace_id, "support", conversation_id)[:3])


# ---- row attributes -----------------------------------------------------------------------------------


@pytest.mark.parametrize("state", ["requested_chat", "human-chatting"])
def test_a_conversation_that_waits_is_in_the_index_until_it_no_longer_waits(
    state: str, api: Api, workspace: NewWorkspace, pass_time: PassTime
) -> None:
    api.post(STATE, {"metadata": {"state": state}})
    first = row_of(workspace)
    assert first.waiting == workspace.workspace_id
    assert first.activity == store.inbox_key(store.read_metadata(first)["lastModified"], first.created)
    pass_time(5)
    api.post(STATE, {"turns": [{"from": "human", "messages": [{"item": {"text": "Hello"}}]}]})
    second = row_of(workspace)
    assert second.waiting == workspace.workspace_id
    # A user who writes again keeps the place.
    assert (second.activity > first.activity) == (state == "human-chatting")
    api.post(STATE, {"metadata": {"state": "ai-chatting"}})
    assert (row_of(workspace).waiting, row_of(workspace).activity) == (None, None)


@pytest.mark.parametrize("state", ["ai-chatting", "ended_chat", "anything", None])
@first_case
def test_another_conversation_is_not_in_the_index(state: str | None, api: Api, workspace: NewWorkspace) -> None:
    api.post(STATE, {"metadata": {"state": state, "userName": "Ann"}})
    assert (row_of(workspace).waiting, row_of(workspace).activity) == (None, None)


def test_a_change_of_the_metadata_alone_keeps_the_turns(api: Api, workspace: NewWorkspace) -> None:
    api.post(STATE, {"turns": [{"from": "human", "messages": [{"mid": "a", "item": {"text": "Hello"}}]}]})
    row = row_of(workspace)
    before = transcript.read_state(row)
    assert row.received is not None
    with storage.unit_of_work():
        store.save_metadata(row, before.metadata, {**before.metadata, "state": "requested_chat"})
    after = row_of(workspace)
    assert storage.unseal(after, "received")["messages"] == []
    assert after.waiting == workspace.workspace_id
    assert transcript.read_state(after) == State(
        {**before.metadata, "state": "requested_chat"}, before.turns, before.totals
    )


def test_the_v2_form_has_no_newest_message(api: Api) -> None:
    body = {"turns": [{"from": "human", "messages": [{"item": {"text": "Hello"}}]}]}
    assert not {"lastMessage", "lastMessageFrom"} & api.post(STATE, body).json["chatState"].keys()
    (listed,) = api.get("/v2/agents/support/convos").data
    assert not {"lastMessage", "lastMessageFrom"} & listed.keys()


@pytest.mark.parametrize("state", ["human-chatting", "ended_chat"])
def test_an_imported_conversation_is_in_the_index_if_it_waits(state: str, api: Api, workspace: NewWorkspace) -> None:
    api.post(STATE, {"metadata": {"state": state}})
    before = row_of(workspace)
    row = store.ConversationRow(storage.join_key(workspace.workspace_id, "support", "ann"))
    row.agent, row.created, row.version_tag = before.agent, before.created, before.version_tag
    restored = store.restore(row, transcript.read_state(before))
    assert (restored.waiting, restored.activity) == (before.waiting, before.activity)
