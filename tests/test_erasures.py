"""Erasures: a person is removed from everything that their workspace stores, and the receipt proves it."""

from typing import Any

from moto.sqs.models import sqs_backends

from chalicelib import storage
from chalicelib.erasures import functions
from tests.api import Api
from tests.builders import lead_body, state_body
from tests.conftest import PassTime


def messages() -> list[dict[str, str]]:
    """Take the messages of the queue of erasures, ignoring their delay."""
    waiting = sqs_backends["123456789012"]["eu-west-1"].queues[storage.table("erasures")]
    taken = [{"body": message.body, "receiptHandle": ""} for message in waiting._messages]
    waiting._messages = []
    return taken


def work(pass_time: PassTime) -> None:
    """Run the function with the messages of its queue until there are none."""
    while taken := messages():
        functions.erase({"Records": taken}, None)
        pass_time(90)


def erase(api: Api, pass_time: PassTime, **person: str) -> dict[str, Any]:
    """Erase a person; returns the complete erasure."""
    made = api.post("/v3/erasures", {"erasure": person}).data
    assert made["status"] == "running"
    work(pass_time)
    found: dict[str, Any] = api.get(f"/v3/erasures/{made['id']}").data
    assert found["status"] == "complete"
    return found


def test_a_conversation_and_a_lead_are_erased(api: Api, agent_id: str, pass_time: PassTime) -> None:
    for user in ("ann", "bo"):
        body = {**state_body("Hello"), "metadata": {"userEmail": f"{user}@example.com"}}
        assert api.post(f"/agents/support/interact/{user}/state", body).status == 200
        assert api.post("/v3/leads", lead_body(email=f"{user}@example.com")).status == 200
    found = erase(api, pass_time, email="ANN@example.com")
    assert found["receipt"]["counts"] == {"conversations": 1, "analytics": 0, "leads": 1, "events": 0, "answers": 0}
    assert [one["ID"] for one in api.get("/v2/agents/support/convos").data] == ["bo"]
    assert [one["email"] for one in api.get("/v3/agents/support/leads").data] == ["bo@example.com"]
