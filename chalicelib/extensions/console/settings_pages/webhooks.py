"""The pages on which operators create, change, test, pause and delete webhooks."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from chalice.app import Response

from chalicelib import errors
from chalicelib.extensions.console.access import calls, guard, rights
from chalicelib.extensions.console.access.calls import commit_now, query_string
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.presentation import pages, record_forms, webhook_health
from chalicelib.extensions.console.settings_pages import webhook_deliveries
from chalicelib.http import current_request
from chalicelib.storage import Document
from chalicelib.webhooks import events, retry_policy

_LIST, _PATH = "/v3/webhooks", "/v3/webhooks/{webhook_id}"
STATUSES = ("pending", "delivered", "failed", "unknown", "expired")
"""The statuses of deliveries, in the order of the filter."""
_EVENTS = tuple(one for one in events.TYPES if one != events.TEST)
_SUBJECTS = {"message": "conversation"}  # events are grouped by their first word, or by this word
_PULL = "pull"
# After these actions, the page reloads until all listed deliveries have an outcome.
_SENDING, _REFRESH_SECONDS = ("test", "redelivered", "redelivered_many"), 3
# The events that buttons on the page of a new webhook select.
_PRESETS = {
    "bot": ["message_received"],
    "leads": ["lead_captured"],
    "handoffs": ["conversation_state_changed", "conversation_assigned"],
}

SAMPLE = {
    "type": "message_received",
    "payload": {
        "agentId": "support",
        "agentName": "Customer support",
        "convoId": "ann",
        "messageContent": "Hello",
        "channel": "webchat",
        "messageType": "text",
        "from": "human",
        "createdAt": 1_795_228_530_123,
        "workspaceSecret": "cams_events_…",
    },
}
"""The body of a delivery, for people who create a webhook. A test compares it with the documentation's."""


@signed_in("/settings")
def read_new_webhook(session: Session) -> Response:
    """Show the form for a new webhook. The query's values of `event` are selected."""
    rights.require_operator(session)
    return _new_page(session, {f"events.{one}": "on" for one in current_request.query_values("event")})


@signed_in("/settings")
def create_webhook(session: Session) -> Response:
    """Create a webhook and show its signing secret once, or select the events of the form's preset."""
    rights.require_operator(session)
    sent = guard.form()
    if preset := sent.get("preset"):
        return _new_page(session, _with_preset(sent, preset))
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
    """Run the form's action: save, test, pause, resume, rotate or delete. Raise Invalid for other actions."""
    rights.require_operator(session)
    sent = guard.form()
    action = _ACTIONS.get(sent.get("action", ""))
    if action is None:
        raise errors.Invalid.member("action", f"must be one of {', '.join(_ACTIONS)}")
    return action(session, webhook_id, sent)


def event_groups() -> dict[str, list[str]]:
    """Return the types of events that a form lists, by the kind of record that they report."""
    groups: dict[str, list[str]] = {}
    for one in _EVENTS:
        subject = one.partition("_")[0]
        groups.setdefault(_SUBJECTS.get(subject, subject), []).append(one)
    return groups


def _with_preset(sent: dict[str, str], preset: str) -> dict[str, str]:
    """Return the form's fields with the preset's events. An unknown preset has none."""
    others = {name: text for name, text in sent.items() if not name.startswith("events.")}
    return {**others, **{f"events.{one}": "on" for one in _PRESETS.get(preset, ())}}


def _create(sent: dict[str, str]) -> Any:
    webhook = _submitted_values(sent)
    if not webhook["description"]:
        del webhook["description"]
    return calls.send_once(sent.get("form_id"), _LIST, {"webhook": webhook})["data"]


def _submitted_values(sent: dict[str, str]) -> Document:
    """Return the members in a form. A pull endpoint's form has no URL."""
    return {
        **({"url": sent["url"].strip()} if "url" in sent else {}),
        "description": sent.get("description", "").strip(),
        "events": [one for one in _EVENTS if sent.get(f"events.{one}")],
    }


def _save(session: Session, webhook_id: str, sent: dict[str, str]) -> Response:
    """Save the form. If the webhook has changed since the page was shown, save nothing and show the differences."""
    webhook, tag = calls.read(_PATH, webhook_id=webhook_id)
    values = _submitted_values(sent)
    stored = {**webhook, "description": webhook["description"] or ""}

    def save() -> Response:
        change = {"webhook": {**values, "description": values["description"] or None}}
        commit_now(lambda: calls.send("PATCH", _PATH, change, tag, webhook_id=webhook_id))
        return webhook_deliveries.to_webhook(session, webhook_id, "save")

    return record_forms.save_form(sent, tag, stored, values, partial(_page, session, webhook_id, sent=sent), save)


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

    secret = rights.with_secrets(session, run)["signingSecret"]
    return _page(session, webhook_id, done="rotate", secret=secret)


def _delete(session: Session, webhook_id: str, sent: dict[str, str]) -> Response:
    with suppress(errors.NotFound):  # the form has been submitted twice
        calls.send("DELETE", _PATH, None, webhook_id=webhook_id)
    return pages.saved(session.workspace_id, "/settings#webhooks", "webhook_deleted")


_ACTIONS: dict[str, Callable[[Session, str, dict[str, str]], Response]] = {
    "save": _save,
    "test": _test,
    "pause": _pause,
    "resume": _resume,
    "rotate": _rotate,
    "delete": _delete,
}


def _new_page(session: Session, values: dict[str, str], error: errors.ApiError | None = None) -> Response:
    selected = _submitted_values(values)["events"]
    return guard.form_page(
        session,
        "new_webhook.html",
        "/settings",
        error,
        values=values,
        groups=event_groups(),
        presets=_PRESETS,
        sample=SAMPLE,
        chosen=next((name for name, types in _PRESETS.items() if types == selected), None),
    )


def _page(
    session: Session,
    webhook_id: str,
    done: str | None = None,
    secret: str | None = None,
    sent: dict[str, str] | None = None,
    error: errors.ApiError | None = None,
    conflicts: Any = (),
) -> Response:
    """Return a webhook's page. `sent` are the values of a form that was not saved."""
    query = {name: current_request.query_value(name) for name in ("status", "cursor")}
    webhook, tag = calls.read(_PATH, webhook_id=webhook_id)
    is_pull = webhook["kind"] == _PULL
    page = {"data": []} if is_pull else _list_deliveries(webhook_id, query)
    following = query_string({**query, "cursor": page["nextCursor"]}) if page.get("nextCursor") else None
    is_newest = not any(query.values())
    failure = webhook_health.failure(webhook, page["data"]) if is_newest else None
    response = guard.form_page(
        webhook_health.with_newest(session, webhook, page["data"]) if is_newest else session,
        "pull_endpoint.html" if is_pull else "webhook.html",
        "/settings",
        error,
        conflicts,
        webhook=webhook,
        tag=tag,
        values=_form_values(webhook) if sent is None else sent,
        is_edited=sent is not None or bool(current_request.query_value("change")),
        groups=event_groups(),
        deliveries=page["data"],
        events=_read_events(webhook_id, page["data"], query),
        test_step=_test_step(webhook, page["data"]) if is_newest else None,
        not_counted=partial(webhook_health.not_counted, page["data"]),
        last_test=webhook_health.last_test(page["data"]) if is_newest else None,
        host=urlsplit(webhook.get("url", "")).netloc,
        query=query,
        following=following,
        statuses=STATUSES,
        failed=webhook_health.FAILED,
        failure=failure,
        step=webhook_deliveries.next_step(failure) if failure else None,
        url_problems=webhook_deliveries.URL_PROBLEMS,
        kept_days=retry_policy.KEPT_DAYS,
        done=_confirmation(done, page["data"]),
        secret=secret,
    )
    if done in _SENDING and any(one["status"] == "pending" for one in page["data"]):
        response.headers["Refresh"] = str(_REFRESH_SECONDS)
    return response


def _confirmation(done: str | None, deliveries: list[Document]) -> str | None:
    """Return the action that the page confirms, if any. The list shows the outcome of what has been sent."""
    if done in _SENDING and not any(one["status"] == "pending" for one in deliveries):
        return None
    return done if done in (*_ACTIONS, "created", *_SENDING) else None


def _test_step(webhook: Document, deliveries: list[Document]) -> str | None:
    """Return the name of the text that explains why tests fail, or None if the newest delivery is no failed test."""
    test = webhook_health.failing_test(webhook, deliveries)
    return webhook_deliveries.next_step(test) if test else None


def _list_deliveries(webhook_id: str, query: Document) -> Any:
    return calls.get(f"{_PATH}/deliveries", {**query, "limit": webhook_deliveries.PAGE_SIZE}, webhook_id=webhook_id)


def _read_events(webhook_id: str, deliveries: list[Document], query: Document) -> list[Document]:
    """Return the newest deliveries of events. A filtered or later page may lack them, so this reads the first page."""
    has_failed = any(one["status"] in webhook_health.FAILED for one in deliveries)
    newer = _list_deliveries(webhook_id, {})["data"] if has_failed and any(query.values()) else ()
    return webhook_health.newest_of_events(deliveries, newer)


def _form_values(webhook: Document) -> dict[str, str]:
    flags = {f"events.{one}": "on" for one in webhook["events"]}
    return {"url": webhook.get("url", ""), "description": webhook["description"] or "", **flags}
