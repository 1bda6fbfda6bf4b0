"""Items in the inbox, in searches and exports, and in the erasure of a person."""

from tests import decrypted_items, extensions
from tests.api import Api
from tests.conftest import PassTime
from tests.extensions.openai.sdk import connect

extensions.require("openai", "transcripts", "erasures")

from tests.extensions.erasures.person_erasure import erase, items_containing

CONVERSATIONS = "/v3/agents/support/convos"


def test_items_are_found_exported_and_erased(api: Api, agent_id: str, pass_time: PassTime) -> None:
    client = connect(api.get("/v2/agents/support").json["SECRET_API_KEY"])
    made = client.conversations.create(
        metadata={"order": "1001"}, items=[{"role": "user", "content": "A room for Zenobia"}]
    )
    client.conversations.items.create(
        made.id, items=[{"type": "function_call", "call_id": "1", "name": "book", "arguments": '{"for": "Zenobia"}'}]
    )
    (found,) = api.get(f"{CONVERSATIONS}/search?q=zenobia").data
    assert found["ID"] == made.id
    exported = api.get(f"{CONVERSATIONS}/{made.id}/export").data
    assert [message["type"] for message in exported["messages"]] == ["message", "function_call"]
    assert (
        api.post(f"/agents/support/interact/{made.id}/state", {"metadata": {"state": "requested_chat"}}).status == 200
    )
    assert [one["ID"] for one in api.get("/v3/convos?inbox=true").data] == [made.id]
    assert items_containing("Zenobia")
    assert erase(api, pass_time, userID=made.id)["counts"]["conversations"] == 1
    assert items_containing("Zenobia") == [] and decrypted_items.items()
