"""Marks the conversations in which operators try an agent. The module performs no I/O."""

from typing import Any

PREFIX = "try-"
"""The beginning of the ids of these conversations."""
TAG = "test"
"""The tag of these conversations. Without the tag, a conversation is listed and notified like a visitor's."""


def is_trial(conversation_id: str, metadata: dict[str, Any]) -> bool:
    """Return whether a conversation is a trial, so that it does not wait with the visitors' conversations."""
    return conversation_id.startswith(PREFIX) and TAG in (metadata.get("tags") or ())
