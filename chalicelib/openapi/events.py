"""The document's webhooks: the requests that the service sends to webhook endpoints."""

from typing import Any

from chalicelib.conversations.new_messages import Channel
from chalicelib.openapi.schemas import COMPONENTS, Schema, inline
from chalicelib.webhooks import events, signature

SCHEMAS: dict[str, Schema] = {"MessageChannel": inline(Channel)}

# Delivery headers: those of Standard Webhooks, and the header of messages.
PARAMETERS: dict[str, Schema] = {
    name: {
        "name": name,
        "in": "header",
        "required": name != signature.MESSAGE_ID,
        "description": description,
        "schema": {"type": "string"},
    }
    for name, description in (
        ("webhook-id", "The event id, which is the same in all deliveries of the event."),
        ("webhook-timestamp", "The time when the request was sent, in Unix seconds."),
        ("webhook-signature", "`v1,` and a base64 signature. During a rotation, several are separated by spaces."),
        (signature.MESSAGE_ID, "The message's `mid`, percent-encoded. Absent if it is longer than 999 characters."),
    )
}


def webhooks() -> dict[str, Any]:
    """Return the document's `webhooks`, one per event type. A type's first word names its payload."""
    return {type_: {"post": _request(type_, COMPONENTS["payloads"][type_.partition("_")[0]])} for type_ in events.TYPES}


def _payload(of_event: Schema) -> Schema:
    every = COMPONENTS["payloads"]["every"]
    required = [*every, *of_event["required"]]
    return {"type": "object", "properties": {**every, **of_event["properties"]}, "required": required}


def _request(event_type: str, of_event: Schema) -> dict[str, Any]:
    body = {
        "type": "object",
        "properties": {"type": {"type": "string", "const": event_type}, "payload": _payload(of_event)},
        "required": ["type", "payload"],
    }
    return {
        "operationId": event_type,
        "tags": ["webhooks"],
        "summary": f"Receive {event_type}",
        "description": of_event["description"],
        "parameters": [
            {"$ref": f"#/components/parameters/{name}"}
            for name in PARAMETERS
            if name != signature.MESSAGE_ID or event_type == "message_received"
        ],
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {
            "200": {"description": "The receiver has accepted the event. Any other status means a failed delivery."}
        },
        "security": [],
    }
