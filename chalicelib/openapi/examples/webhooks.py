"""Examples of the webhook operations. Deliveries are still pending in the responses."""

from typing import Any

from chalicelib.openapi.examples.shared import (
    DELIVERY_ID,
    EVENT_ID,
    NEW_SIGNING_SECRET,
    NOW_MILLISECONDS,
    SECOND_DELIVERY_ID,
    SIGNING_SECRET,
    WEBHOOK_ID,
    Example,
    Examples,
    success,
)

_GIVEN = {
    "url": "https://example.com/hooks/cams",
    "events": ["message_received", "lead_captured"],
    "description": "The shop's inbox",
}
_SHOWN = {**_GIVEN, "id": WEBHOOK_ID, "enabled": True, "createdAt": NOW_MILLISECONDS}
_CHANGE = {"events": ["lead_captured", "agent_deleted"], "enabled": False, "description": None}
_CHANGED = {**_SHOWN, **_CHANGE}

_DELIVERY: dict[str, Any] = {
    "id": DELIVERY_ID,
    "eventId": EVENT_ID,
    "type": "webhook_test",
    "status": "pending",
    "responseStatus": None,
    "durationMs": None,
    "error": None,
    "createdAt": NOW_MILLISECONDS,
}
_PAYLOAD = {"message": "A test of this webhook endpoint.", "createdAt": NOW_MILLISECONDS}
_REPEATED = {**_DELIVERY, "id": SECOND_DELIVERY_ID}

CREATE_WEBHOOK: Examples = {
    "inbox": Example(
        "An endpoint for messages and leads",
        success("Webhook created successfully", {**_SHOWN, "signingSecret": SIGNING_SECRET}),
        {"webhook": _GIVEN},
    )
}
LIST_WEBHOOKS: Examples = {"webhooks": Example("All endpoints", success("Webhooks retrieved successfully", [_SHOWN]))}
READ_WEBHOOK: Examples = {"webhook": Example("The endpoint", success("Webhook retrieved successfully", _SHOWN))}
CHANGE_WEBHOOK: Examples = {
    "pause": Example(
        "Omitted members keep their values; null clears a member",
        success("Webhook updated successfully", _CHANGED),
        {"webhook": _CHANGE},
    )
}
ROTATE_WEBHOOK: Examples = {
    "rotated": Example(
        "The new secret, shown once",
        success("Webhook secret rotated successfully", {**_CHANGED, "signingSecret": NEW_SIGNING_SECRET}),
    )
}
TEST_WEBHOOK: Examples = {
    "sent": Example("A queued test delivery", success("Webhook test queued successfully", _DELIVERY)),
}
REDELIVER: Examples = {
    "again": Example("A new delivery of the same event", success("Delivery queued successfully", _REPEATED)),
}
LIST_DELIVERIES: Examples = {
    "newest": Example("The newest first", success("Deliveries retrieved successfully", [_REPEATED, _DELIVERY]))
}
READ_DELIVERY: Examples = {
    "payload": Example(
        "With the payload of its event",
        success("Delivery retrieved successfully", {**_DELIVERY, "payload": _PAYLOAD}),
    )
}
