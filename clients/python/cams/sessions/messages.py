"""The messages in which the adapters store items of agent frameworks."""

import json
import uuid
from typing import Any

from .. import models


def message(author: str, kind: str, item: dict[str, Any], mid: str | None = None) -> dict[str, Any]:
    """Return a message. Without `mid`, it gets a new id, so that repeated requests store it only once.

    The messages of the user have the author `human`. Only they count as interactions. The kind is also the channel, by
    which `is_of_adapter` recognizes the message.
    """
    sender = "human" if author == "user" else author
    return {"mid": mid or uuid.uuid4().hex, "from": sender, "type": kind, "channel": kind, "item": item}


def is_of_adapter(stored: models.Message, kind: str) -> bool:
    """Return whether an adapter has stored the message.

    A visitor may forge all members except the author and the channel, which the service removes.
    """
    return stored.to_dict().get("channel") == kind


def author_of(role: str, content: Any) -> str:
    """Return the author of a message. In Claude's and Strands' formats, the user sends the results of tools."""
    blocks = content if isinstance(content, list) else []
    is_result = any("toolResult" in block or block.get("type") == "tool_result" for block in blocks)
    return "tool" if role == "user" and is_result else role


def text_of(stored: models.Message) -> str:
    """Return the text of a message that a widget or a person has added, or its content as JSON."""
    item = stored.item or {}
    texts = (item.get(name) for name in ("message", "text", "content", "payload"))
    return next((text for text in texts if isinstance(text, str)), json.dumps(item))
