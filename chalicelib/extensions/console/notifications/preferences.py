"""Whether a client gets emails, by its `notificationsSettings`. Pure."""

from typing import Any

_THROUGH, _IF = "email", "all"


def by_email(client: dict[str, Any]) -> bool:
    """Return whether a client gets an email when a conversation waits for a person.

    Without `notifyIf`, each conversation counts. The service cannot check an unknown value, so it sends no mail.
    """
    settings = client.get("notificationsSettings") or {}
    return settings.get("notifyThrough") == _THROUGH and settings.get("notifyIf") in (None, _IF)
