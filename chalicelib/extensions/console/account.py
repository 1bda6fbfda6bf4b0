"""The profile page: a person's own name, photo, language, time zone, emails, sign-in and sessions."""

from typing import Any

from chalice.app import Response

from chalicelib import errors
from chalicelib.clients import store as clients
from chalicelib.credentials import store
from chalicelib.extensions.console import (
    calls,
    fields,
    guard,
    open_sessions,
    pages,
    periods,
    rights,
    session_store,
    sessions,
    settings,
)
from chalicelib.extensions.console.calls import commit_now
from chalicelib.extensions.console.fields import TEXT, Field
from chalicelib.extensions.console.guard import signed_in
from chalicelib.extensions.console.notifications import preferences, recipients
from chalicelib.extensions.console.sessions import Session
from chalicelib.http import current_request
from chalicelib.storage import Document

_CLIENT = "/v2/clients/{client_id}"
_FIELDS = (
    Field("name", TEXT), Field("squarePhotoURL", TEXT), Field("preferredLanguage", TEXT), Field("timezone", TEXT)
)  # fmt: skip
_CURRENT, _PASSWORD, _EMAIL = "currentPassword", "dashboardPassword", "email"


@signed_in(sessions.ACCOUNT)
def read_account(session: Session) -> Response:
    """Show the person's own profile, or an operator's workspace and key."""
    return _page(session)


@signed_in(sessions.ACCOUNT)
def save_account(session: Session) -> Response:
    """Save the person's own name, photo, language, time zone and notification settings, and nothing else."""
    client_id, sent = _client_id(session), guard.form()
    client, _ = calls.read(_CLIENT, client_id=client_id)
    values = fields.submitted_values(_fields(client).fields, sent)
    change = {**fields.change(_fields(client).fields, client, values), **_notifications(client, sent)}
    try:
        # Require that the client exists. Otherwise, the operation would recreate a deleted client.
        commit_now(lambda: calls.send("POST", _CLIENT, change, "*", client_id=client_id))
    except (errors.Invalid, errors.TooLarge) as error:
        return _page(session, error, values)
    sessions.clear_cache()
    return pages.saved(session.workspace_id, sessions.ACCOUNT, "true")


@signed_in(sessions.ACCOUNT)
def save_password(session: Session) -> Response:
    """Set the person's own email or password, which ends all their sessions. Start a new session for this browser.

    Only administrators can change their email. A wrong current password counts as a failed sign-in.
    """
    sent = guard.form()
    try:
        change = _change_sign_in(session, sent)
    except errors.ApiError as error:
        return _page(session, error, {_EMAIL: sent.get(_EMAIL, "")})
    issued = sessions.restart(session, change.get(_PASSWORD) or sent.get(_CURRENT, ""))
    response = pages.saved(session.workspace_id, sessions.ACCOUNT, "password" if _PASSWORD in change else "email")
    if issued:
        response.headers["Set-Cookie"] = _cookie(session, issued.token, session_store.LIFETIME)
    return response


@signed_in(sessions.ACCOUNT)
def sign_out_everywhere(session: Session) -> Response:
    """End all sessions of the person, including this one, or only the session whose id is in the form."""
    client_id, ended = _client_id(session), guard.form().get("session")
    if ended:
        return _end(session, ended)
    commit_now(lambda: sessions.stage_sign_out(clients.read(session.workspace_id, client_id)))
    sessions.clear_cache()
    return pages.redirect(f"/{session.workspace_id}", _cookie(session, "", 0))


def _end(session: Session, session_id: str) -> Response:
    """End one of the person's own open sessions. Do nothing for any other id."""
    for one in open_sessions.list_newest(session):
        if one.row.credential_id == session_id:
            store.revoke(one.row)
    sessions.clear_cache()
    return pages.saved(session.workspace_id, sessions.ACCOUNT, "session_ended")


def _notifications(client: Document, sent: dict[str, str]) -> Document:
    """Return the members for the submitted choice, or none if the choice is unchanged, to keep unknown settings."""
    choice = "on" if sent.get("notify") else ""
    return settings.NOTIFICATIONS[choice] if preferences.by_email(client) != bool(choice) else {}


def _sign_in_change(session: Session, client: clients.ClientRow, sent: dict[str, str]) -> Document:
    """Return the change to the person's email and password. Raise a form error, Forbidden and TooManyAttempts."""
    document, email, password = client.open(), sent.get(_EMAIL, "").strip(), sent.get(_PASSWORD, "")
    if not sessions.check_password(session.workspace_id, document, sent.get(_CURRENT, ""), guard.address()):
        raise guard.form_error(session, _CURRENT)
    rights.require_valid(session, client, document)
    if password and sent.get(_CURRENT) == password:
        raise guard.form_error(session, f"{_PASSWORD}.same")
    is_new = document.get("isOrgAdmin") and email not in ("", document.get(_EMAIL))
    change = {_EMAIL: email} if is_new else {}
    return {**change, _PASSWORD: password} if password or not change else change


def _change_sign_in(session: Session, sent: dict[str, str]) -> Document:
    """Return the stored change. Raise the same errors, and PreconditionFailed if the client has changed meanwhile."""
    client = clients.read(session.workspace_id, _client_id(session))
    change, tag = _sign_in_change(session, client, sent), f'"{client.version_tag}"'
    try:
        commit_now(lambda: calls.send("POST", _CLIENT, change, tag, client_id=client.client_id))
    except clients.EmailTaken:
        raise guard.form_error(session, _EMAIL, clients.EmailTaken) from None
    return change


def _client_id(session: Session) -> str:
    if session.client_id is None:
        raise errors.Forbidden("A workspace key has no profile.")
    return session.client_id


def _fields(client: Document) -> fields.FieldsThatFit:
    return fields.fields_that_fit(_FIELDS, client, settings.MAX_FORM_BYTES)


def _cookie(session: Session, token: str, seconds: int) -> str:
    return pages.cookie(sessions.COOKIE, session.workspace_id, token, seconds)


def _page(session: Session, error: errors.ApiError | None = None, values: dict[str, Any] | None = None) -> Response:
    client_id, client = session.client_id, session.client
    displayed, stored = _fields(client), client.get("preferredLanguage")
    return guard.form_page(
        session,
        "account.html",
        sessions.ACCOUNT,
        error,
        values={_EMAIL: client.get(_EMAIL) or "", **fields.values(displayed.fields, client), **(values or {})},
        left_out=displayed.left_out,
        languages=settings.choices(guard.texts(session), "as_organisation", "language", pages.LANGUAGES, stored),
        zones=periods.ZONES,
        is_notified=preferences.by_email(client),
        problem=recipients.problem(session.workspace_id, client_id, client) if client_id else None,
        saved=current_request.query_value("saved"),
        open_sessions=open_sessions.list_newest(session),
        started_at=int(session.row.created_at),
        ends_at=session.row.ends_at,
        workspace=calls.get("/v3/workspace")["data"] if client_id is None else {},
    )
