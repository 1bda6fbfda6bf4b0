"""Deleting a tool, a client, an organisation or a conversation leaves no items in any table."""

import os
from typing import Any

import pytest

from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.conversations.test_retention import clear_deleted
from tests.deletion.cascades import HUMAN, LIST, create, items
from tests.selection import first_case
from tests.webhooks import pipeline
from tests.webhooks.conftest import stream as stream


def pages_of(api: Api) -> list[list[str]]:
    """Return the ids on each page of the list, and stop at the first empty page."""
    pages: list[list[str]] = []
    while page := api.get(f"{LIST}?page={len(pages) + 1}").data:
        pages.append([one["ID"] for one in page])
    return pages


@pytest.mark.parametrize(
    ("make", "body", "read", "delete"),
    [
        ("/v2/clients/ann", {"email": "a@x.test"}, "/v2/clients/ann", "/v3/clients/ann"),
        ("/v2/clients/ann", {"email": "a@x.test"}, "/v2/clients/ann", "/v2/clients/ann"),
        ("/v2/orgs/acme", {"name": "Acme"}, "/v2/orgs/acme", "/v3/orgs/acme"),
        ("/v2/orgs/acme", {"name": "Acme"}, "/v2/orgs/acme", "/v2/orgs/acme"),
    ],
    ids=["client", "client v2", "organisation", "organisation v2"],
)
def test_a_deleted_record_is_gone_and_leaves_no_item(api: Api, make: str, body: Any, read: str, delete: str) -> None:
    api.post(make, body)
    assert api.delete(delete).status == 200
    assert (api.get(read).status, api.delete(delete).status) == (404, 404)
    assert items("clients", "organisations") == []


def test_a_deleted_tool_is_gone_from_the_list(api: Api, agent_id: str) -> None:
    gone, stays = (api.post("/v3/agents/support/tools", {"tool": {"name": name}}).data["id"] for name in ("a", "b"))
    assert api.delete(f"/v3/tools/{gone}").status == 200
    assert [tool["id"] for tool in api.get("/v3/agents/support/tools").data] == [stays]
    assert api.get(f"/v3/tools/{gone}").status == 404


def test_the_email_of_a_deleted_client_can_be_used_again(api: Api) -> None:
    api.post("/v2/clients/ann", {"email": "a@x.test"})
    api.delete("/v3/clients/ann")
    assert api.post("/v2/clients/bo", {"email": "a@x.test"}).status == 200


@pytest.mark.parametrize("path", ["/v3/clients/x", "/v3/orgs/x", "/v3/agents/support"])
@first_case
def test_a_record_of_another_workspace_cannot_be_deleted(
    api: Api, agent_id: str, other_workspace: NewWorkspace, path: str
) -> None:
    api.post("/v2/clients/x", {})
    api.post("/v2/orgs/x", {"name": "X"})
    before = items("clients", "organisations", "agents")
    assert Api(other_workspace.workspace_key).delete(path).status == 404
    assert items("clients", "organisations", "agents") == before


def test_a_deleted_conversation_leaves_no_item(api: Api, agent_id: str) -> None:
    before = len(items("conversations"))
    long = [{"messages": [{"text": os.urandom(500_000).hex()}]}]
    api.post("/agents/support/interact/ann/state", {"turns": long})
    assert len(items("conversations")) > before + 1
    assert api.delete("/v3/agents/support/convos/ann").status == 200
    assert len(items("conversations")) == before
    assert api.delete("/v3/agents/support/convos/ann").status == 404


def test_the_id_of_a_deleted_conversation_can_be_used_again(api: Api, agent_id: str) -> None:
    api.post("/agents/support/interact/ann/state", {"turns": HUMAN})
    create(api, 1)
    api.delete("/v3/agents/support/convos/ann")
    assert api.post("/agents/support/interact/ann/state").json["turns"] == []
    api.post("/agents/support/interact/ann/state", {"turns": []})
    assert pages_of(api)[0][0] == "ann"


def test_deleting_a_conversation_deletes_its_received_messages(
    api: Api, agent_id: str, stream: pipeline.Stream
) -> None:
    messages = [{"item": {"text": str(number)}} for number in range(1_000)]  # too large for one item
    body = {"turns": [{"from": "human", "messages": messages}]}
    assert api.post("/agents/support/interact/ann/state", body).status == 200
    assert api.delete("/v3/agents/support/convos/ann").status == 200
    clear_deleted(stream)
    assert items("conversations") == []
