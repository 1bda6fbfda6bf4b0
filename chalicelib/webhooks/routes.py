"""Webhook endpoints and their deliveries over HTTP: routes of our own, the specification leaves them open (§6)."""

from typing import TYPE_CHECKING, Any

from chalice.app import Blueprint, Response

from chalicelib import clock, errors, storage
from chalicelib.http import auth, etag, messages
from chalicelib.http.operation import operation
from chalicelib.webhooks import endpoints, events, ledger, queue, sender

if TYPE_CHECKING:
    from chalicelib.webhooks.models import WebhookChange

routes = Blueprint(__name__)

_NEW = {"enabled": True}
_SHOWN = ("url", "events", "enabled", "description", "createdAt")


@routes.route("/v3/webhooks", methods=["POST"])
@operation(body="models.WebhookIn", data="models.Webhook")
def create_webhook() -> Response:
    """Create an endpoint. `signingSecret` is shown in this answer only."""
    from chalicelib.webhooks.models import WebhookIn

    document = _valid(messages.body(WebhookIn).webhook, _NEW)
    row, secret = endpoints.create(auth.caller().workspace_id, document)
    shown = {**_shown(row), "signingSecret": secret}
    return etag.tagged(messages.success("Webhook created successfully", shown), row)


@routes.route("/v3/webhooks", methods=["GET"])
@operation(data="list[models.Webhook]")
def list_webhooks() -> Response:
    """List the endpoints of the workspace, oldest first."""
    rows = endpoints.listed(auth.caller().workspace_id)
    return messages.success("Webhooks retrieved successfully", [_shown(row) for row in rows])


@routes.route("/v3/webhooks/{webhook_id}", methods=["GET"])
@operation(data="models.Webhook", headers=("If-None-Match",))
def read_webhook(webhook_id: str) -> Response:
    """Read an endpoint."""
    row = _found(webhook_id)
    return etag.tagged(messages.success("Webhook retrieved successfully", _shown(row)), row)


@routes.route("/v3/webhooks/{webhook_id}", methods=["PATCH"])
@operation(body="models.WebhookChangeIn", data="models.Webhook", headers=("If-Match",))
def change_webhook(webhook_id: str) -> Response:
    """Change an endpoint: members that are left out stay, `events` is replaced as a whole."""
    from chalicelib.webhooks.models import WebhookChangeIn

    change = messages.body(WebhookChangeIn).webhook

    def changed() -> endpoints.WebhookRow:
        row = _matched(webhook_id)
        endpoints.save(row, before := row.open(), _valid(change, before))
        return row

    row = storage.retry_on_conflict(changed)
    return etag.tagged(messages.success("Webhook updated successfully", _shown(row)), row)


@routes.route("/v3/webhooks/{webhook_id}", methods=["DELETE"])
@operation(headers=("If-Match",))
def delete_webhook(webhook_id: str) -> Response:
    """Delete an endpoint with its list of deliveries; what is on its way to it is not sent any more."""
    storage.retry_on_conflict(lambda: endpoints.delete(_matched(webhook_id)))
    return messages.success("Webhook deleted successfully")


@routes.route("/v3/webhooks/{webhook_id}/test", methods=["POST"])
@operation(data="models.Delivery")
def test_webhook(webhook_id: str) -> Response:
    """Send a `webhook_test` event to an endpoint, whatever it is set to."""
    _found(webhook_id)
    payload = {"message": "A test of this webhook endpoint.", "createdAt": clock.milliseconds()}
    event = events.Event(clock.new_id(), auth.caller().workspace_id, events.TEST, payload)
    ledger.record([event])
    return messages.success("Webhook test queued successfully", _sent(webhook_id, event.id, event.type))


@routes.route("/v3/webhooks/{webhook_id}/rotate", methods=["POST"])
@operation(data="models.Webhook", headers=("If-Match",))
def rotate_webhook(webhook_id: str) -> Response:
    """Replace the signing secret; for 24 hours deliveries carry a signature of the old one, too.

    `signingSecret` is shown in this answer only.
    """

    def rotated() -> tuple[endpoints.WebhookRow, str]:
        row = _matched(webhook_id)
        return row, endpoints.rotate(row)

    row, secret = storage.retry_on_conflict(rotated)
    shown = {**_shown(row), "signingSecret": secret}
    return etag.tagged(messages.success("Webhook secret rotated successfully", shown), row)


@routes.route("/v3/webhooks/{webhook_id}/deliveries", methods=["GET"])
@operation(data="list[models.Delivery]", query=("limit", "cursor", "status"))
def list_deliveries(webhook_id: str) -> Response:
    """List the deliveries to an endpoint of the last 30 days, newest first; of one `status` where it is given.

    `nextCursor` is there when there may be more: a page of one status looks at 1,000 deliveries, and may be short.
    """
    status = messages.query_value("status")
    if status not in (None, *ledger.STATUSES):
        raise errors.Invalid.member("status", f"must be one of {', '.join(ledger.STATUSES)}")
    cursor, limit = messages.cursor(), messages.limit()
    _found(webhook_id)
    rows, more = ledger.listed(auth.caller().workspace_id, webhook_id, cursor, limit, status)
    shown = [_delivery(row) for row in rows]
    return messages.listing("Deliveries retrieved successfully", shown, more and messages.to_cursor(more))


@routes.route("/v3/webhooks/{webhook_id}/deliveries/{delivery_id}", methods=["GET"])
@operation(data="models.Delivery")
def read_delivery(webhook_id: str, delivery_id: str) -> Response:
    """Read a delivery with the payload of its event, as long as that is kept."""
    row = _read(webhook_id, delivery_id)
    event = ledger.find_event(auth.caller().workspace_id, row.event_id)
    payload = {"payload": event["payload"]} if event else {}
    return messages.success("Delivery retrieved successfully", {**_delivery(row), **payload})


@routes.route("/v3/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver", methods=["POST"])
@operation(data="models.Delivery")
def redeliver(webhook_id: str, delivery_id: str) -> Response:
    """Send the same event once more, as a new delivery, whatever the endpoint is set to."""
    row = _read(webhook_id, delivery_id)
    if ledger.find_event(auth.caller().workspace_id, row.event_id) is None:
        raise errors.NotFound.of("event")
    return messages.success("Delivery queued successfully", _sent(webhook_id, row.event_id, row.type))


def _found(webhook_id: str) -> endpoints.WebhookRow:
    return endpoints.read(auth.caller().workspace_id, webhook_id)


def _matched(webhook_id: str) -> endpoints.WebhookRow:
    return etag.require_match(endpoints.find(auth.caller().workspace_id, webhook_id), "webhook")


def _read(webhook_id: str, delivery_id: str) -> ledger.DeliveryRow:
    """A delivery; that of a deleted endpoint is not there either."""
    _found(webhook_id)
    return ledger.read(auth.caller().workspace_id, webhook_id, delivery_id)


def _sent(webhook_id: str, event_id: str, type_: str) -> dict[str, Any]:
    """Put one delivery on its way; it can be read at once."""
    message = queue.Message(auth.caller().workspace_id, webhook_id, event_id, type_, clock.new_id())
    row = ledger.new(*message)
    ledger.prepare(row)
    queue.send([message], queue.FAST)
    return _delivery(row)


def _valid(change: "WebhookChange", before: dict[str, Any]) -> dict[str, Any]:
    """`before` with the change. Raises Invalid for a URL that is not for webhooks."""
    after = change.merge_into(before)
    rule = sender.check_url(after["url"]) if "url" in change.model_fields_set else None
    if rule is not None:
        raise errors.Invalid.member("webhook.url", rule)
    return {**after, "events": list(dict.fromkeys(after["events"]))}


def _shown(row: endpoints.WebhookRow) -> dict[str, Any]:
    document = row.open()
    return {"id": row.webhook_id, **{name: document.get(name) for name in _SHOWN}}


def _delivery(row: ledger.DeliveryRow) -> dict[str, Any]:
    return {
        "id": row.delivery_id,
        "eventId": row.event_id,
        "type": row.type,
        "status": row.status,
        "responseStatus": None if row.response_status is None else int(row.response_status),
        "durationMs": None if row.duration_ms is None else int(row.duration_ms),
        "error": row.error,
        "createdAt": row.created_at,
    }
