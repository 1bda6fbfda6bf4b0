"""The bodies that many tests send: small, right, and different in what the test is about.

One for each operation is in `tests/operations.py`.
"""

from typing import Any

Body = dict[str, Any]


def message(text: str, **members: Any) -> Body:
    """A message with a text."""
    return {"type": "text", "item": {"text": text}, **members}


def state_body(*texts: str, sender: str = "human", **members: Any) -> Body:
    """A replacement of a state: a turn of the user for each text; `members` are those of each message."""
    return {"turns": [{"from": sender, "messages": [message(text, **members)]} for text in texts]}


def webhook_body(url: str = "https://example.com/hooks", *events: str, **members: Any) -> Body:
    """A webhook for these types of events, for leads where none is given."""
    return {"webhook": {"url": url, "events": list(events or ["lead_captured"]), **members}}


def lead_body(agent_id: str = "support", **members: Any) -> Body:
    """A lead of an agent."""
    return {"lead": {"agentId": agent_id, **members}}
