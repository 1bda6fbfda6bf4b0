"""The page of a webhook's delivery, and the forms that send events again."""

from contextlib import suppress

from chalice.app import Response

from chalicelib import errors
from chalicelib.extensions.console.access import calls, guard, rights
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.presentation import pages, webhook_health
from chalicelib.storage import Document
from chalicelib.webhooks import retry_policy

_WEBHOOK = "/v3/webhooks/{webhook_id}"
_DELIVERY = f"{_WEBHOOK}/deliveries/{{delivery_id}}"
_REDELIVER = f"{_DELIVERY}/redeliver"
_FIELD = "delivery."
_DAY_SECONDS = 24 * 60 * 60
# The first digits of the statuses with an explanation of what to do after a delivery failed.
_EXPLAINED = (2, 3, 4, 5)
URL_PROBLEMS = ("unreachable", "3xx", "4xx")
"""The explanations of failures whose cause may be the webhook's URL."""
PAGE_SIZE = 50
"""The number of deliveries per page, and the maximum number that a form sends again. Each costs one commit."""


@signed_in("/settings")
def read_delivery(session: Session, webhook_id: str, delivery_id: str) -> Response:
    """Show a delivery's outcome with the next step, and the body that was sent, without its secret."""
    rights.require_operator(session)
    delivery = calls.get(_DELIVERY, webhook_id=webhook_id, delivery_id=delivery_id)["data"]
    webhook = calls.get(_WEBHOOK, webhook_id=webhook_id)["data"]
    return guard.page(
        session,
        "delivery.html",
        "/settings",
        webhook=webhook,
        delivery=delivery,
        body=_body(delivery),
        step=next_step(delivery),
        failed=webhook_health.FAILED,
        url_problems=URL_PROBLEMS,
        kept_until=delivery["createdAt"] // 1000 + retry_policy.KEPT_DAYS * _DAY_SECONDS,
    )


@signed_in("/settings")
def redeliver(session: Session, webhook_id: str, delivery_id: str) -> Response:
    """Send a delivery's event again."""
    rights.require_operator(session)
    _send_again(guard.form().get("form_id"), webhook_id, delivery_id)
    return to_webhook(session, webhook_id, "redelivered")


@signed_in("/settings")
def redeliver_many(session: Session, webhook_id: str) -> Response:
    """Send the events of the form's deliveries again, each once per form. Skip events that are no longer stored."""
    rights.require_operator(session)
    sent = guard.form()
    delivery_ids = [value for name, value in sent.items() if name.startswith(_FIELD)]
    for delivery_id in delivery_ids[:PAGE_SIZE]:
        with suppress(errors.NotFound):
            _send_again(sent.get("form_id"), webhook_id, delivery_id)
    return to_webhook(session, webhook_id, "redelivered_many")


def to_webhook(session: Session, webhook_id: str, done: str) -> Response:
    """Redirect to a webhook's page, which confirms the action `done`."""
    return pages.saved(session.workspace_id, f"/settings/webhooks/{webhook_id}", done)


def next_step(delivery: Document) -> str:
    """Return the name of the text that explains an outcome: the delivery's status or, if it failed, the response's."""
    status, response = delivery["status"], delivery["responseStatus"]
    if status != "failed":
        return str(status)
    return f"{response // 100}xx" if response and response // 100 in _EXPLAINED else "unreachable"


def _body(delivery: Document) -> Document | None:
    return {"type": delivery["type"], "payload": delivery["payload"]} if "payload" in delivery else None


def _send_again(form_id: str | None, webhook_id: str, delivery_id: str) -> None:
    calls.send_once(form_id, _REDELIVER, None, webhook_id=webhook_id, delivery_id=delivery_id)
