"""The webhooks of the document: the requests that the service sends to webhook endpoints."""

from typing import Any, Literal

from pydantic import BaseModel, Field
from typing_extensions import TypeAliasType

from chalicelib.conversations.new_messages import Channel
from chalicelib.http.wire import Platform, omitted
from chalicelib.leads.models import LeadChannel
from chalicelib.openapi.schemas import Schema, inline
from chalicelib.webhooks import events

EventOperation = TypeAliasType("EventOperation", Literal["created", "updated", "deleted"])
MessageChannel = TypeAliasType("MessageChannel", Channel)


class _Payload(BaseModel):
    createdAt: int = Field(description="The time of the event, in Unix milliseconds.")
    workspaceSecret: str = Field(description="The event secret of the workspace.")


class _AgentEvent(_Payload):
    """An agent was created, changed or deleted."""

    agentId: str
    agentName: str = omitted()
    agentPlatform: Platform = omitted()
    operation: EventOperation


class _MessageEvent(_Payload):
    """A conversation got a message of its user."""

    agentId: str
    agentName: str = omitted()
    convoId: str
    messageContent: str
    channel: MessageChannel = Field(
        description="The `channel` of the message if it has one of these values, otherwise that of the `origin`."
    )
    messageType: str = omitted()
    from_: str = omitted(alias="from")


class _OrganisationEvent(_Payload):
    """An organisation was created, changed or deleted."""

    organisationId: str
    organisationName: str = omitted()
    operation: EventOperation


class _ClientEvent(_Payload):
    """A client was created, changed or deleted."""

    organisationId: str = Field(description="Empty if the client has no organisation.")
    clientId: str
    clientName: str = omitted()
    clientEmail: str = omitted()
    operation: EventOperation


class _LeadEvent(_Payload):
    """A lead was captured. The members with `lead` in their name are those of the lead without it: `name` and so on."""

    agentId: str
    agentName: str = omitted(description="The title of the agent when the lead was captured.")
    leadName: str = omitted()
    leadEmail: str = omitted()
    leadPhone: str = omitted()
    channel: LeadChannel
    operation: Literal["captured"]


class _TestEvent(_Payload):
    """A test of the webhook endpoint was requested."""

    message: str


# By the first word of the event types.
_PAYLOADS = {
    "agent": _AgentEvent,
    "message": _MessageEvent,
    "organisation": _OrganisationEvent,
    "client": _ClientEvent,
    "lead": _LeadEvent,
    "webhook": _TestEvent,
}

SCHEMAS: dict[str, Schema] = {one.__name__: inline(one.__value__) for one in (EventOperation, MessageChannel)}

# The headers of a delivery (Standard Webhooks).
PARAMETERS: dict[str, Schema] = {
    name: {"name": name, "in": "header", "required": True, "description": description, "schema": {"type": "string"}}
    for name, description in (
        ("webhook-id", "The id of the event, the same in each delivery of it."),
        ("webhook-timestamp", "The time of sending, in Unix seconds."),
        ("webhook-signature", "`v1,` and a base64 signature. During a rotation several, separated by spaces."),
    )
}


def webhooks() -> dict[str, Any]:
    """Return the `webhooks` of the document, one per event type."""
    return {one: {"post": _request(one, inline(_PAYLOADS[one.partition("_")[0]]))} for one in events.TYPES}


def _request(event_type: str, payload: Schema) -> dict[str, Any]:
    body = {
        "type": "object",
        "properties": {"type": {"type": "string", "const": event_type}, "payload": payload},
        "required": ["type", "payload"],
    }
    return {
        "operationId": event_type,
        "tags": ["webhooks"],
        "summary": f"Receive {event_type}",
        "description": payload.pop("description"),
        "parameters": [{"$ref": f"#/components/parameters/{name}"} for name in PARAMETERS],
        "requestBody": {"required": True, "content": {"application/json": {"schema": body}}},
        "responses": {"200": {"description": "The event has arrived. Any other status is a failed delivery."}},
        "security": [],
    }
