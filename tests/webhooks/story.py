"""Requests that cause one event of each type, in this order. A new event type needs an entry here."""

from typing import Any

from tests.builders import lead_body

# Each entry contains the event type, and the request's method, path and body.
STORY: tuple[tuple[str, str, str, Any], ...] = (
    ("agent_created", "POST", "/v2/agents/support", {"title": "Support"}),
    ("agent_updated", "PATCH", "/v3/agents/support", {"agent": {"title": "Customer support"}}),
    (
        "message_received",
        "POST",
        "/agents/support/interact/ann/state",
        {
            "turns": [
                {
                    "from": "human",
                    "messages": [{"mid": "1", "from": "human", "type": "text", "item": {"text": "Hello"}}],
                },
                {"from": "bot", "messages": [{"mid": "2", "from": "bot", "type": "text", "item": {"text": "Hi!"}}]},
            ],
            "metadata": {"origin": "web-chat"},
        },
    ),
    (
        "conversation_state_changed",
        "PATCH",
        "/v3/agents/support/convos/ann",
        {"conversation": {"state": "human-chatting"}},
    ),
    ("lead_captured", "POST", "/v3/leads", lead_body(name="Ann", email="ann@example.com")),
    ("organisation_created", "POST", "/v2/orgs/acme", {"name": "Acme"}),
    ("organisation_updated", "POST", "/v2/orgs/acme", {"name": "Acme Ltd"}),
    ("client_created", "POST", "/v2/clients/bo", {"orgId": "acme", "name": "Bo", "email": "bo@example.com"}),
    ("client_updated", "POST", "/v2/clients/bo", {"name": "Bo Li"}),
    ("conversation_assigned", "POST", "/v3/agents/support/convos/ann/assign", {"assignToUserId": "bo"}),
    ("client_deleted", "DELETE", "/v3/clients/bo", None),
    ("organisation_deleted", "DELETE", "/v3/orgs/acme", None),
    ("agent_deleted", "DELETE", "/v3/agents/support", None),
)
