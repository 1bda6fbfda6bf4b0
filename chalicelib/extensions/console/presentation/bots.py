"""Finds the webhooks through which bots receive visitors' messages."""

from collections.abc import Container, Iterable

from chalicelib.extensions.console.access import calls
from chalicelib.storage import Document

_EVENT = "message_received"  # the webhook event that bots answer


def webhooks() -> list[Document]:
    """Return the webhooks for visitors' messages, including disabled webhooks. This costs one request."""
    return [hook for hook in calls.get("/v3/webhooks")["data"] if _EVENT in hook["events"]]


def is_connected(hooks: Iterable[Document]) -> bool:
    """Return whether any of these webhooks is active."""
    return any(hook["enabled"] for hook in hooks)


def find_failing(hooks: Iterable[Document], failing: Container[str]) -> str | None:
    """Return the id of the first active webhook among those that fail, or None."""
    return next((hook["id"] for hook in hooks if hook["enabled"] and hook["id"] in failing), None)
