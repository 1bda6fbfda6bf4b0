"""No credential of a deleted agent gives access to a new agent with the same id."""

from typing import Any

import pytest

from chalicelib import storage
from chalicelib.credentials import tokens
from chalicelib.credentials.store import CredentialRow
from tests.api import Api
from tests.assertions import refused
from tests.builders import message, state_body
from tests.conftest import PassTime
from tests.deletion.cascades import second_run

AGENT = "/v2/agents/support"
STATE = "/agents/support/interact/ann/state"
MESSAGES = "/agents/support/interact/ann/messages"
TOKENS = "/agents/support/interact/ann/visitor-tokens"
HELLO = {"messages": [message("Hello")]}


def recreate(api: Api, pass_time: PassTime, **members: Any) -> None:
    """Delete the agent with its records, and create another agent with the same id."""
    assert api.delete("/v3/agents/support").status == 200
    second_run(pass_time)
    assert api.post(AGENT, {"title": "Another", **members}).json["message"] == "Agent created successfully"


def visitor(caller: Api) -> Api:
    """Return a visitor token that is valid for a month; its conversation need not exist."""
    return Api(caller.post(TOKENS, {"token": {"expiresInSeconds": 30 * 86_400}}).data["token"])


@pytest.mark.parametrize(
    ("path", "body"),
    [(STATE, {}), (STATE, {"metadata": {"userName": "Ann"}}), (MESSAGES, HELLO)],
    ids=["reading", "a name", "a message"],
)
@pytest.mark.parametrize("is_used_again", [False, True], ids=["no conversation", "a conversation of another person"])
def test_a_visitor_token_of_a_deleted_agent_opens_nothing(
    api: Api, agent_id: str, pass_time: PassTime, path: str, body: Any, is_used_again: bool
) -> None:
    holder = visitor(api)
    recreate(api, pass_time)
    if is_used_again:
        assert api.post(STATE, state_body("Somebody else")).status == 200
    assert holder.post(path, body).status == 404
    assert (api.get("/v3/agents/support/convos/ann").status == 200) is is_used_again
    assert visitor(api).post(path, body).status == 200


def test_a_visitor_token_that_is_as_old_as_its_agent_opens_its_conversation(api: Api, pass_time: PassTime) -> None:
    api.post(AGENT, {})
    assert visitor(api).post(MESSAGES, HELLO).status == 200
    api.post("/v2/agents/support", {"title": "Changed later"})
    assert visitor(api).post(STATE, {}).status == 200


def test_a_visitor_token_of_the_release_before_opens_its_conversation(api: Api, agent_id: str) -> None:
    token = api.post(TOKENS, {"token": {}}).data["token"]
    with storage.unit_of_work():
        row = CredentialRow(tokens.fingerprint(token))
        storage.update(row, [CredentialRow.agent_created.remove()], CredentialRow.agent_created.exists())
    assert Api(token).post(MESSAGES, HELLO).status == 200


def test_an_agent_key_of_a_deleted_agent_opens_nothing(api: Api, agent_id: str, pass_time: PassTime) -> None:
    old = api.get(AGENT).json["SECRET_API_KEY"]
    api.post(AGENT, {"SECRET_API_KEY": tokens.new(tokens.AGENT)})  # replaces the first key
    keys = [old, api.get(AGENT).json["SECRET_API_KEY"]]
    recreate(api, pass_time)
    assert [Api(key).get(AGENT).status for key in keys] == [401, 401]


def test_a_key_that_is_set_again_opens_the_new_agent_but_revives_no_visitor_token_or_stored_response(
    api: Api, agent_id: str, pass_time: PassTime
) -> None:
    key = api.get(AGENT).json["SECRET_API_KEY"]
    holder = visitor(Api(key))
    headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": "1", "Content-Type": "application/json"}
    first = Api().call("POST", MESSAGES, HELLO, headers)
    assert first.status == 200
    recreate(api, pass_time, SECRET_API_KEY=key)
    refused(holder.post(STATE, {}), 401, interaction=True)
    again = Api().call("POST", MESSAGES, HELLO, headers)
    assert (again.status, again.headers.get("idempotency-replayed")) == (200, None)
    assert again.data[0]["mid"] != first.data[0]["mid"]
