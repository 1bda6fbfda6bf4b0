"""A person who has records of every kind."""

import hashlib

from chalicelib.webhooks import events, ledger
from tests.api import Api
from tests.builders import lead_body, message, state_body

ZARA = {"email": "zara@example.com", "userID": "zara"}


def fill(api: Api, workspace_id: str, user: str) -> None:
    """Create a user's conversations (one with chunks), analytics, a lead, an event and a stored response."""
    headers = {**api._headers, "Content-Type": "application/json", "Idempotency-Key": f"key-{user}"}
    noise = hashlib.shake_256(user.encode()).hexdigest(150_000)
    turns = {"turns": [{"from": "human", "messages": [message(noise)]}]}
    assert api.call("POST", f"/agents/support/interact/{user}/state", turns, headers).status == 200
    body = {**state_body("Hello"), "metadata": {"userEmail": f"{user}@example.com"}}
    assert api.post(f"/agents/support/interact/by-mail-of-{user}/state", body).status == 200
    assert api.post(f"/v2/agents/support/analytics/{user}", {"record": "load"}).status == 200
    assert api.post("/v3/leads", lead_body(email=f"{user}@example.com")).status == 200
    payload = {"agentId": "support", "convoId": f"by-mail-of-{user}", "messageContent": "Hello"}
    ledger.save_events([events.Event(f"01m7zd9ja0p9{user:0>14}", workspace_id, "message_received", payload)])
