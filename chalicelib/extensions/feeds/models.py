"""The wire model for events in a feed."""

from chalicelib.http.wire import OpenObject, OptionalText, WireModel, omitted
from chalicelib.webhooks.models import EventType


class FeedEvent(WireModel):
    """An event in a feed. `type` and `payload` are the body of a webhook, without `workspaceSecret`.

    `id` is the event's id, which a webhook has in the header `webhook-id`. `mid` is the id of a received message.
    `after` is the position after this event. An event that the service cannot decrypt has `unreadable`, which is true,
    instead of `type` and `payload`.
    """

    id: str
    type: EventType = omitted()
    payload: OpenObject = omitted()
    unreadable: bool = omitted()
    mid: OptionalText = omitted()
    after: str
