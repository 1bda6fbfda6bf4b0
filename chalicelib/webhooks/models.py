"""Wire models for webhook endpoints and deliveries. The specification does not define them (§6)."""

from typing import Annotated, Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from chalicelib.http.wire import SECRET, OpenObject, OptionalNumber, OptionalText, WireModel, omitted, read_only
from chalicelib.webhooks.events import Type

EventType = TypeAliasType("EventType", Type)
EndpointKind = TypeAliasType("EndpointKind", Literal["push", "pull"])
DeliveryStatus = TypeAliasType("DeliveryStatus", Literal["pending", "delivered", "failed", "unknown", "expired"])

Url = Annotated[str, Field(min_length=1, max_length=2048)]
Types = Annotated[list[EventType], Field(min_length=1)]


class WebhookChange(WireModel):
    """A change to a webhook endpoint. Omitted members keep their values."""

    id: OptionalText = read_only()
    kind: EndpointKind | None = read_only()
    # These members are required in an endpoint, so null cannot clear them. The defaults only mean "omitted"; their
    # values are not used.
    url: Url = ""
    events: Types = Field(default_factory=list)
    enabled: bool = True
    description: Annotated[str, Field(max_length=1000)] | None = None
    createdAt: OptionalNumber = read_only()


class NewWebhook(WebhookChange):
    """A webhook endpoint to create: its event types and, unless `kind` is `pull`, a public https URL.

    `enabled` is true by default.
    """

    kind: EndpointKind = "push"
    events: Types


class WebhookIn(WireModel):
    """The body of POST /v3/webhooks."""

    webhook: NewWebhook


class WebhookChangeIn(WireModel):
    """The body of PATCH /v3/webhooks/{webhook_id}."""

    webhook: WebhookChange


class Webhook(WireModel):
    """A webhook endpoint. `createdAt` is in Unix milliseconds.

    Only responses from the create and rotate routes contain `signingSecret`. A pull endpoint has neither `url` nor
    secret.
    """

    id: str
    kind: EndpointKind
    url: str = omitted()
    events: list[EventType]
    enabled: bool
    description: OptionalText
    signingSecret: Annotated[str, SECRET] = omitted()
    createdAt: int


class Delivery(WireModel):
    """A delivery of an event to a webhook endpoint.

    `pending`: the delivery is queued or being sent. `delivered`: the receiver responded with 200. `failed`: the
    receiver did not, and `error` contains the reason. `unknown`: the outcome was lost, so the event may have arrived.
    `expired`: the delivery was never sent and will not be. `createdAt` is in Unix milliseconds. Lists omit `payload`,
    which never contains `workspaceSecret`.
    """

    id: str
    eventId: str
    type: EventType
    status: DeliveryStatus
    responseStatus: int | None
    durationMs: int | None
    error: OptionalText
    createdAt: int
    payload: OpenObject = omitted()
