"""Webhook endpoints and deliveries on the wire: routes of our own, the specification leaves them open (§6)."""

from typing import Annotated, Literal

from pydantic import AfterValidator, Field
from pydantic_core import PydanticCustomError

from chalicelib.http.wire import Open, OptionalNumber, OptionalText, Wire, read_only
from chalicelib.webhooks.events import Type


def _some(types: list[Type]) -> list[Type]:
    # pydantic's own words for it are about a list "after validation".
    if not types:
        raise PydanticCustomError("too_short", "must have at least 1 item")
    return types


Url = Annotated[str, Field(min_length=1, max_length=2048)]
Types = Annotated[list[Type], AfterValidator(_some), Field(json_schema_extra={"minItems": 1})]


class WebhookChange(Wire):
    """What can be changed of an endpoint; members that are left out stay."""

    id: OptionalText = read_only()
    # An endpoint has these always, so that null clears none; a default stands for "left out" and is not looked at.
    url: Url = ""
    events: Types = Field(default_factory=list)
    enabled: bool = True
    description: Annotated[str, Field(max_length=1000)] | None = None
    createdAt: OptionalNumber = read_only()


class NewWebhook(WebhookChange):
    """An endpoint to create: a public https address, and the types of events that it wants.

    It is enabled unless told otherwise.
    """

    url: Url
    events: Types


class WebhookIn(Wire):
    """The body of POST /v3/webhooks."""

    webhook: NewWebhook


class WebhookChangeIn(Wire):
    """The body of PATCH /v3/webhooks/{webhook_id}."""

    webhook: WebhookChange


class Webhook(Wire):
    """An endpoint. `signingSecret` is shown when it is made or rotated, and never again. `createdAt` is in ms."""

    id: str
    url: str
    events: list[Type]
    enabled: bool
    description: OptionalText = None
    signingSecret: OptionalText = None
    createdAt: int


class Delivery(Wire):
    """A delivery of an event to an endpoint.

    `pending`: on its way. `delivered`: the receiver answered 200. `failed`: it did not; `error` says what happened.
    `unknown`: it was about to be sent, or was, and the outcome was lost. `expired`: it was never sent, and will not
    be. `createdAt` is in ms. `payload` is there where one delivery is read, without `workspaceSecret`.
    """

    id: str
    eventId: str
    type: Type
    status: Literal["pending", "delivered", "failed", "unknown", "expired"]
    responseStatus: int | None = None
    durationMs: int | None = None
    error: OptionalText = None
    createdAt: int
    payload: dict[str, Open] | None = None
