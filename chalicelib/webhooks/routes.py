"""Routes for webhook endpoints and their deliveries. The specification does not define them (§6)."""

from typing import TYPE_CHECKING, Any

from chalice.app import Blueprint, Response

from chalicelib import clock, errors, extensions, ids, storage
from chalicelib.http import auth, bodies, current_request, etag, parameters, privileges, responses
from chalicelib.http.lazy_module import LazyModule
from chalicelib.http.operation import Operation
from chalicelib.sending import sender
from chalicelib.webhooks import endpoints, queue

if TYPE_CHECKING:
    from chalicelib.webhooks import events, ledger, models
else:
    events, ledger = LazyModule("chalicelib.webhooks.events"), LazyModule("chalicelib.webhooks.ledger")
    models = LazyModule("chalicelib.webhooks.models")

routes = Blueprint(__name__)

_DEFAULTS = {"enabled": True}
_RENDERED = ("events", "enabled", "description", "createdAt")


class PullEndpoint(errors.Conflict):
    """The endpoint is a pull endpoint, so CAMS sends nothing to it and signs nothing for it."""

    code = "PULL_ENDPOINT"
    sentence = "A pull endpoint has no deliveries and no signing secret; read its events."


@routes.route("/v3/webhooks", methods=["POST"])
@Operation(
    body="models.WebhookIn", data="models.Webhook", creates=True, warns=True, raises=(errors.Stale, errors.LimitReached)
)
def create_webhook() -> Response:
    """Create a webhook endpoint. Store its `signingSecret`: only this response contains it.

    An endpoint of the kind `pull` has no URL and no secret, because its events are read at `…/events`.

    If the caller is a token with scopes, the response omits the secret, but the workspace key can rotate it. If the
    caller is an access token, `warnings` lists the endpoint, because the endpoint outlives the token.
    """
    body: models.WebhookIn = bodies.read()
    is_pull = body.webhook.kind == endpoints.PULL
    if is_pull and not extensions.service("pull_queue"):
        raise errors.Invalid.member("webhook.kind", "must be push, because pull endpoints are disabled")
    if is_pull:
        _require_no_url(body.webhook)
    elif "url" not in body.webhook.model_fields_set:
        raise errors.Invalid.member("webhook.url", "is required")
    _require_valid_url(body.webhook)
    row, secret = endpoints.create(auth.caller().workspace_id, _merged(body.webhook, _DEFAULTS))
    shown = {} if is_pull else {"signingSecret": secret}
    data = privileges.visible({**_render(row), **shown}, lambda: models.Webhook)
    warnings = privileges.warn_of_lasting("webhook", *(f"webhook.{name}" for name in shown))
    return etag.tagged(responses.success("Webhook created successfully", data, warnings), row)


@routes.route("/v3/webhooks", methods=["GET"])
@Operation(data="list[models.Webhook]")
def list_webhooks() -> Response:
    """List the workspace's webhook endpoints, oldest first. A single page contains all endpoints, at most 50."""
    rows = endpoints.list_all(auth.caller().workspace_id)
    return responses.success("Webhooks retrieved successfully", [_render(row) for row in rows])


@routes.route("/v3/webhooks/{webhook_id}", methods=["GET"])
@Operation(data="models.Webhook", headers=("If-None-Match",), raises=(errors.NotFound,))
def read_webhook(webhook_id: str) -> Response:
    """Read a webhook endpoint. Its signing secret cannot be read again."""
    row = _endpoint(webhook_id)
    return etag.tagged(responses.success("Webhook retrieved successfully", _render(row)), row)


@routes.route("/v3/webhooks/{webhook_id}", methods=["PATCH"])
@Operation(
    body="models.WebhookChangeIn",
    data="models.Webhook",
    warns=True,
    headers=("If-Match",),
    raises=(errors.NotFound, errors.Stale),
)
def change_webhook(webhook_id: str) -> Response:
    """Change a webhook endpoint. Omitted members keep their values, and `events` replaces the whole list.

    If the caller is an access token, `warnings` lists the endpoint, because the endpoint outlives the token.
    """
    change: models.WebhookChangeIn = bodies.read()
    _require_valid_url(change.webhook)
    row = _require_match(webhook_id)
    before = row.open()
    if endpoints.is_pull(before):
        _require_no_url(change.webhook)
    endpoints.save(row, before, _merged(change.webhook, before))
    warnings = privileges.warn_of_lasting("webhook")
    return etag.tagged(responses.success("Webhook updated successfully", _render(row), warnings), row)


@routes.route("/v3/webhooks/{webhook_id}", methods=["DELETE"])
@Operation(headers=("If-Match",), raises=(errors.NotFound, errors.Stale))
def delete_webhook(webhook_id: str) -> Response:
    """Delete a webhook endpoint and its delivery list. Deliveries that are still queued are not sent."""
    endpoints.delete(_require_match(webhook_id))
    return responses.success("Webhook deleted successfully")


@routes.route("/v3/webhooks/{webhook_id}/test", methods=["POST"])
@Operation(data="models.Delivery", raises=(errors.NotFound, PullEndpoint))
def test_webhook(webhook_id: str) -> Response:
    """Send a `webhook_test` event, even if the endpoint is disabled or does not subscribe to this event type."""
    _require_push(_endpoint(webhook_id))
    payload = {"message": "A test of this webhook endpoint.", "createdAt": clock.milliseconds()}
    event = events.Event(ids.new_id(), auth.caller().workspace_id, events.TEST, payload)
    ledger.stage_event(event)
    return responses.success("Webhook test queued successfully", _stage_delivery(webhook_id, event.id, event.type))


@routes.route("/v3/webhooks/{webhook_id}/rotate", methods=["POST"])
@Operation(
    data="models.Webhook", headers=("If-Match",), warns=True, raises=(errors.NotFound, errors.Stale, PullEndpoint)
)
def rotate_webhook(webhook_id: str) -> Response:
    """Rotate the signing secret. For 24 hours, each delivery also contains a signature with the old secret.

    Store `signingSecret`: only this response contains it. If the caller is a token with scopes, the response omits it.
    """
    row = _require_push(_require_match(webhook_id))
    rotated = privileges.visible({"signingSecret": endpoints.rotate(row), **_render(row)}, lambda: models.Webhook)
    warnings = privileges.warn_of_lasting("webhook.signingSecret")
    return etag.tagged(responses.success("Webhook secret rotated successfully", rotated, warnings), row)


@routes.route("/v3/webhooks/{webhook_id}/deliveries", methods=["GET"])
@Operation(data="list[models.Delivery]", query=("limit", "cursor", "status"), raises=(errors.NotFound,))
def list_deliveries(webhook_id: str) -> Response:
    """List a webhook endpoint's deliveries from the last 30 days, newest first.

    `status` selects deliveries by status. Only failed deliveries have an index. For any other status, a page searches
    up to 1,000 deliveries, so it may be short or empty. Continue as long as the response contains `nextCursor`.
    Deliveries and outcomes from the last second may be missing.
    """
    status = current_request.query_value("status")
    if status not in (None, *ledger.STATUSES):
        raise errors.Invalid.member("status", f"must be one of {', '.join(ledger.STATUSES)}")
    cursor, limit = parameters.cursor(), parameters.limit()
    _endpoint(webhook_id)
    rows, last = ledger.list_page(auth.caller().workspace_id, webhook_id, cursor, limit, status)
    deliveries = [_render_delivery(row) for row in rows]
    return responses.listing("Deliveries retrieved successfully", deliveries, last)


@routes.route("/v3/webhooks/{webhook_id}/deliveries/{delivery_id}", methods=["GET"])
@Operation(data="models.Delivery", raises=(errors.NotFound,))
def read_delivery(webhook_id: str, delivery_id: str) -> Response:
    """Read a delivery with its event's `payload`, which is stored for 30 days."""
    row = _read(webhook_id, delivery_id)
    event = ledger.find_event(auth.caller().workspace_id, row.event_id)
    payload = {"payload": event["payload"]} if event else {}
    return responses.success("Delivery retrieved successfully", {**_render_delivery(row), **payload})


@routes.route("/v3/webhooks/{webhook_id}/deliveries/{delivery_id}/redeliver", methods=["POST"])
@Operation(data="models.Delivery", raises=(errors.NotFound,))
def redeliver(webhook_id: str, delivery_id: str) -> Response:
    """Redeliver an event: send the same event again, as a new delivery.

    The event is sent even if the endpoint is disabled or no longer subscribes to this event type.
    """
    row = _read(webhook_id, delivery_id)
    errors.require(ledger.find_event(auth.caller().workspace_id, row.event_id), "event")
    return responses.success("Delivery queued successfully", _stage_delivery(webhook_id, row.event_id, row.type))


def _endpoint(webhook_id: str) -> endpoints.WebhookRow:
    return endpoints.read(auth.caller().workspace_id, webhook_id)


def _require_match(webhook_id: str) -> endpoints.WebhookRow:
    return etag.require_match(endpoints.find(auth.caller().workspace_id, webhook_id), "webhook")


def _read(webhook_id: str, delivery_id: str) -> "ledger.DeliveryRow":
    """Return a delivery. Raise NotFound if the delivery or its endpoint does not exist."""
    _endpoint(webhook_id)
    return ledger.read(auth.caller().workspace_id, webhook_id, delivery_id)


def _stage_delivery(webhook_id: str, event_id: str, type_: str) -> dict[str, Any]:
    """Stage a requested delivery and its queue message. The API can read the delivery before it is sent."""
    message = queue.DeliveryMessage(auth.caller().workspace_id, webhook_id, type_, (event_id,), ids.new_id())
    (delivery,) = message.deliveries
    row = ledger.new(*delivery)
    storage.put(row)
    storage.current_unit().send_after_commit(queue.FAST, message.pack())
    return _render_delivery(row)


def _require_push(row: endpoints.WebhookRow) -> endpoints.WebhookRow:
    if endpoints.is_pull(row.open()):
        raise PullEndpoint()
    return row


def _require_no_url(change: "models.WebhookChange") -> None:
    if "url" in change.model_fields_set:
        raise errors.Invalid.member("webhook.url", "must be absent, because a pull endpoint has no URL")


def _require_valid_url(change: "models.WebhookChange") -> None:
    """Raise Invalid if the URL is not allowed for a webhook endpoint."""
    rule = sender.check_url(change.url) if "url" in change.model_fields_set else None
    if rule is not None:
        raise errors.Invalid.member("webhook.url", rule)


def _merged(change: "models.WebhookChange", before: dict[str, Any]) -> dict[str, Any]:
    after = change.merge_into(before)
    return {**after, "events": list(dict.fromkeys(after["events"]))}


def _render(row: endpoints.WebhookRow) -> dict[str, Any]:
    document = row.open()
    kind = {"kind": endpoints.PULL} if endpoints.is_pull(document) else {"kind": endpoints.PUSH, "url": document["url"]}
    return {"id": row.webhook_id, **kind, **{name: document.get(name) for name in _RENDERED}}


def _render_delivery(row: "ledger.DeliveryRow") -> dict[str, Any]:
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
