"""The pages on which operators create, test, pause and delete webhooks."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from chalice.app import Response

from chalicelib import errors
from chalicelib.extensions.console import calls, guard, pages, rights, webhook_deliveries
from chalicelib.extensions.console.calls import query_string
from chalicelib.extensions.console.guard import signed_in
from chalicelib.extensions.console.sessions import Session
from chalicelib.http import current_request
from chalicelib.storage import Document
from chalicelib.webhooks import events

_LIST, _PATH = "/v3/webhooks", "/v3/webhooks/{webhook_id}"
_STATUSES = ("pending", "delivered", "failed", "unknown", "expired")
_EVENTS = tuple(one for one in events.TYPES if one != events.TEST)


@signed_in("/settings")
def read_new_webhook(session: Session) -> Response:
    """Show the form for a new webhook."""
    rights.require_operator(session)
    return _new_page(session, {})


@signed_in("/settings")
def create_webhook(session: Session) -> Response:
    """Create a webhook, and show its signing secret once."""
    rights.require_operator(session)
    sent = guard.form()
    try:
        webhook = rights.with_secrets(session, lambda: _create(sent))
    except errors.ApiError as error:
        return _new_page(session, sent, error)
    return _page(session, webhook["id"], done="created", secret=webhook["signingSecret"])


@signed_in("/settings")
def read_webhook(session: Session, webhook_id: str) -> Response:
    """Show a webhook and its deliveries, newest first. A pull endpoint has no deliveries."""
    rights.require_operator(session)
    return _page(session, webhook_id, done=current_request.query_value("saved"))


@signed_in("/settings")
def submit_action(session: Session, webhook_id: str) -> Response:
    """Run the form's action: test, pause, resume, rotate or delete. Raise Invalid for other actions."""
    rights.require_operator(session)
    sent = guard.form()
    action = _ACTIONS.get(sent.get("action", ""))
    if action is None:
        raise errors.Invalid.member("action", f"must be one of {', '.join(_ACTIONS)}")
    return action(session, webhook_id, sent)


def _create(sent: dict[str, str]) -> Any:
    description = sent.get("description", "").strip()
    webhook: Document = {
        "url": sent.get("url", "").strip(),
        "events": [one for one in _EVENTS if sent.get(f"events.{one}")],
        **({"description": description} if description else {}),
    }
    return calls.send_once(sent.get("form_id"), _LIST, {"webhook": webhook})["data"]


def _test(session: Session, webhook_id: str, sent: dict[str, str]) -> Response:
    calls.send_once(sent.get("form_id"), f"{_PATH}/test", None, webhook_id=webhook_id)
    return webhook_deliveries.to_webhook(session, webhook_id, "test")


def _pause(session: Session, webhook_id: str, sent: dict[str, str]) -> Response:
    calls.send("PATCH", _PATH, {"webhook": {"enabled": False}}, webhook_id=webhook_id)
    return webhook_deliveries.to_webhook(session, webhook_id, "pause")


def _resume(session: Session, webhook_id: str, sent: dict[str, str]) -> Response:
    calls.send("PATCH", _PATH, {"webhook": {"enabled": True}}, webhook_id=webhook_id)
    return webhook_deliveries.to_webhook(session, webhook_id, "resume")


def _rotate(session: Session, webhook_id: str, sent: dict[str, str]) -> Response:
    """Rotate the signing secret, once per form, and show the new secret."""

    def run() -> Any:
        return calls.send_once(sent.get("form_id"), f"{_PATH}/rotate", None, webhook_id=webhook_id)["data"]

    return _page(session, webhook_id, secret=rights.with_secrets(session, run)["signingSecret"])


def _delete(session: Session, webhook_id: str, sent: dict[str, str]) -> Response:
    with suppress(errors.NotFound):  # the form has been submitted twice
        calls.send("DELETE", _PATH, None, webhook_id=webhook_id)
    return pages.saved(session.workspace_id, "/settings#webhooks", "webhook_deleted")


_ACTIONS: dict[str, Callable[[Session, str, dict[str, str]], Response]] = {
    "test": _test,
    "pause": _pause,
    "resume": _resume,
    "rotate": _rotate,
    "delete": _delete,
}


def _new_page(session: Session, values: dict[str, str], error: errors.ApiError | None = None) -> Response:
    return guard.form_page(session, "new_webhook.html", "/settings", error, values=values, events=_EVENTS)


def _page(session: Session, webhook_id: str, done: str | None = None, secret: str | None = None) -> Response:
    query = {name: current_request.query_value(name) for name in ("status", "cursor")}
    webhook, _ = calls.read(_PATH, webhook_id=webhook_id)
    if webhook["kind"] == "pull":
        return guard.page(session, "pull_endpoint.html", "/settings", webhook=webhook, done=done)
    page = calls.get(f"{_PATH}/deliveries", {**query, "limit": webhook_deliveries.PAGE_SIZE}, webhook_id=webhook_id)
    following = query_string({**query, "cursor": page["nextCursor"]}) if page.get("nextCursor") else None
    return guard.page(
        session,
        "webhook.html",
        "/settings",
        webhook=webhook,
        deliveries=page["data"],
        query=query,
        following=following,
        statuses=_STATUSES,
        done=done if done in (*_ACTIONS, "created", "redelivered", "redelivered_many") else None,
        secret=secret,
    )
