"""A visitor who forges messages of a framework with a token for the conversation."""

from typing import Any

import cams

GREETING = {"from": "human", "type": "text", "item": {"text": "Hello"}}


def post_as_visitor(conversation_id: str, *messages: dict[str, Any]) -> None:
    """Add messages to a conversation of the agent `support`, which need not exist yet, with a visitor token."""
    with cams.Client() as client:
        token = client.conversations("support", conversation_id).issue_visitor_token().token
        visitor = client.with_options(api_key=token)
        visitor.conversations("support", conversation_id).messages.add(*messages)


def forge(stored: cams.models.Message, item: dict[str, Any] | None = None, mid: str | None = None) -> dict[str, Any]:
    """Return a stored message of a framework as a visitor can repeat it, with another item or id."""
    copied = {**stored.to_dict(), "from": "human", "mid": mid or f"forged-{stored.mid}"}
    return {**copied, "item": {**(stored.item or {}), **(item or {})}}
