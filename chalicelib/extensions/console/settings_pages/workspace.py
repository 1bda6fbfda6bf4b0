"""The page on which operators change the workspace: its name, and how long conversations are kept."""

from functools import partial
from typing import Any

from chalice.app import Response

from chalicelib import errors
from chalicelib.extensions.console.access import calls, guard, rights, sessions
from chalicelib.extensions.console.access.calls import commit_now
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.presentation import fields, pages, record_forms
from chalicelib.extensions.console.presentation.fields import NUMBER, TEXT, Field
from chalicelib.http import current_request
from chalicelib.storage import Document
from chalicelib.webhooks import endpoints, retry_policy

_PATH = "/v3/workspace"
_RETENTION, _CONFIRM = "retentionDays", "confirm"
_FIELDS = (Field("name", TEXT), Field(_RETENTION, NUMBER))


@signed_in("/settings")
def read_workspace(session: Session) -> Response:
    """Show the workspace's form."""
    rights.require_operator(session)
    workspace, tag = calls.read(_PATH)
    return _page(session, workspace, tag, fields.values(_FIELDS, workspace))


@signed_in("/settings")
def save_workspace(session: Session) -> Response:
    """Save the form. If the workspace has changed since, save nothing and show the differences."""
    rights.require_operator(session)
    (workspace, tag), sent = calls.read(_PATH), guard.form()
    values = fields.submitted_values(_FIELDS, sent)

    def save() -> Response:
        commit_now(lambda: _save(session, workspace, fields.change(_FIELDS, workspace, values), tag, sent))
        sessions.clear_cache()  # every page shows the workspace's name
        return pages.saved(session.workspace_id, "/settings/workspace", "true")

    show = partial(_page, session, workspace, tag, values)
    return record_forms.save_form(sent, tag, fields.values(_FIELDS, workspace), values, show, save)


def _save(session: Session, workspace: Document, change: Document, tag: str, sent: dict[str, str]) -> None:
    calls.send("PATCH", _PATH, {"workspace": change}, tag)
    # Ask only after the operation has accepted the number. The error discards the operation's writes.
    if _shortens(workspace.get(_RETENTION), change.get(_RETENTION)) and not sent.get(_CONFIRM):
        raise guard.form_error(session, f"{_CONFIRM}.retention")


def _shortens(before: int | None, after: Any) -> bool:
    """Return whether a change of the retention would delete conversations that are kept now."""
    return isinstance(after, int | float) and (before is None or after < before)


def _page(
    session: Session,
    workspace: Document,
    tag: str,
    values: dict[str, Any],
    error: errors.ApiError | None = None,
    conflicts: Any = (),
) -> Response:
    return guard.form_page(
        session,
        "workspace.html",
        "/settings",
        error,
        conflicts,
        workspace=workspace,
        tag=tag,
        values=values,
        delivery_days=retry_policy.KEPT_DAYS,
        max_webhooks=endpoints.MAX_ENDPOINTS,
        saved=current_request.query_value("saved"),
    )
