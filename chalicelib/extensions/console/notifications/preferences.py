"""Evaluates the email preferences in a client's `notificationsSettings`. The module performs no I/O."""

from typing import Any

_THROUGH, _IF = "email", "all"
BY_STATE: dict[str, dict[str, Any]] = {
    "on": {"notificationsSettings": {"notifyThrough": _THROUGH, "notifyIf": _IF}},
    "": {"notificationsSettings": {"notifyThrough": None, "notifyIf": None}},
}
"""The change that each state of the check box for emails about waiting conversations makes to a client."""


def by_email(client: dict[str, Any]) -> bool:
    """Return whether a client gets an email when a conversation is waiting for a person.

    Without `notifyIf`, every conversation qualifies. The service cannot evaluate unknown values, so it sends no email
    for them.
    """
    settings = client.get("notificationsSettings") or {}
    return settings.get("notifyThrough") == _THROUGH and settings.get("notifyIf") in (None, _IF)
