"""Small, valid request bodies that tests adapt. `tests/operations.py` contains a body for each operation."""

from typing import Any

Body = dict[str, Any]


def message(text: str, **members: Any) -> Body:
    """Return a text message."""
    return {"type": "text", "item": {"text": text}, **members}


def state_body(*texts: str, sender: str = "human", **members: Any) -> Body:
    """Return a body that replaces a state with one turn per text. `members` are merged into each message."""
    return {"turns": [{"from": sender, "messages": [message(text, **members)]} for text in texts]}


def webhook_body(url: Any = "https://example.com/hooks", *events: str, **members: Any) -> Body:
    """Return a webhook body for these event types. The default is lead events."""
    return {"webhook": {"url": url, "events": list(events or ["lead_captured"]), **members}}


def lead_body(agent_id: str = "support", **members: Any) -> Body:
    """Return a lead body for this agent."""
    return {"lead": {"agentId": agent_id, **members}}


# Message items with the text "Hello\nAnn" in the formats of agent frameworks.
PART_ITEMS: dict[str, Body] = {
    "OpenAI": {
        "type": "message",
        "role": "user",
        "content": [{"type": "input_text", "text": "Hello"}, {"type": "input_text", "text": "Ann"}],
    },
    "Claude": {
        "type": "assistant",
        "message": {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "Hm", "signature": "x"},
                {"type": "text", "text": "Hello"},
                {"type": "tool_use", "id": "t1", "name": "find", "input": {"text": "1010"}},
                {"type": "text", "text": "Ann"},
            ],
        },
    },
    "Strands": {
        "message": {"role": "user", "content": [{"text": "Hello"}, {"text": "Ann"}, {"toolUse": {"name": "find"}}]},
        "message_id": 0,
    },
    "UIMessage": {
        "id": "u1",
        "role": "assistant",
        "parts": [
            {"type": "step-start"},
            {"type": "reasoning", "text": "Hm"},
            {"type": "text", "text": "Hello"},
            {"type": "text", "text": "Ann", "state": "done"},
        ],
    },
}
