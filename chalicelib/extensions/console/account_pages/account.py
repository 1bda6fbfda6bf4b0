"""The profile page: a person's own name, photo, language, time zone, notifications, email, password and sessions."""

from typing import Any

from chalice.app import Response

from chalicelib import clock, errors
from chalicelib.clients import store as clients
from chalicelib.credentials import store
from chalicelib.credentials.store import NewCredential
from chalicelib.extensions.console.access import (
    calls,
    guard,
    open_sessions,
    operator_selection,
    rights,
    session_store,
    sessions,
)
from chalicelib.extensions.console.access.calls import commit_now
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.account_pages import change_notices, photos
from chalicelib.extensions.console.notifications import preferences, recipients
from chalicelib.extensions.console.presentation import fields, pages, record_forms, theme, time_zones
from chalicelib.extensions.console.presentation.fields import TEXT, Field
from chalicelib.extensions.console.presentation.template_filters import PHOTO
from chalicelib.http import current_request
from chalicelib.storage import Document

_CLIENT = "/v2/clients/{client_id}"
_FIELDS = (Field("name", TEXT), Field("preferredLanguage", TEXT), Field("timezone", TEXT))
OTHERS = "others"
"""The value of the field `session` that ends all sessions except this one."""
_PASSWORD, _EMAIL = "dashboardPassword", "email"
_HIDE_STEPS = "hide_steps"  # the action of the button on the overview
# The field for the current password, in the form that changes each member.
_CURRENT = {_PASSWORD: "currentPassword", _EMAIL: "emailPassword"}


@signed_in(sessions.ACCOUNT)
def read_account(session: Session) -> Response:
    """Show the person's own profile, or an operator's workspace and key."""
    return _page(session)


@signed_in(sessions.ACCOUNT)
def save_account(session: Session) -> Response:
    """Save the person's own name, photo, language, time zone, theme and notification settings, and nothing else.

    The theme and an operator's preferences are kept in cookies.
    """
    if {*guard.form()} <= {"form", "theme"}:  # the form of the release before
        return _saved(session)
    if session.client_id is None:
        return _hide_steps(session) if guard.form().get("action") == _HIDE_STEPS else _save_preferences(session)
    client_id, sent = session.client_id, guard.form()
    client, _ = calls.read(_CLIENT, client_id=client_id)
    values = _submitted_values(client, sent)
    change = {**fields.change(_fields(client).fields, client, values), **_notifications(client, sent)}
    try:
        change |= photos.change(session, sent)
        # Require that the client exists. Otherwise, the operation would recreate a deleted client.
        commit_now(lambda: calls.send("POST", _CLIENT, change, "*", client_id=client_id))
    except (errors.Invalid, errors.TooLarge) as error:
        return _page(session, error, {**values, PHOTO: photos.submitted(sent), "theme": _theme(sent)})
    sessions.clear_cache()
    return _saved(session)


@signed_in(sessions.ACCOUNT)
def save_password(session: Session) -> Response:
    """Set the person's own password or email, which ends all their sessions. Start a new session for this browser.

    Only administrators can change their email. A wrong current password counts as a failed sign-in.
    """
    sent = guard.form()
    member = _EMAIL if sent.get("action") == _EMAIL else _PASSWORD
    current, new = sent.get(_CURRENT[member], ""), sent.get(member, "")
    try:
        change = _change_sign_in(session, member, current, new)
    except errors.ApiError as error:
        return _page(session, error, {_EMAIL: new} if member == _EMAIL else {})
    issued = sessions.restart(session, change.get(_PASSWORD, current))
    cookie = _cookie(session, issued.token, session_store.LIFETIME) if issued else None
    saved = "password" if member == _PASSWORD else member
    return pages.redirect(f"/{session.workspace_id}{sessions.ACCOUNT}?saved={saved}", cookie)


@signed_in(sessions.ACCOUNT)
def sign_out_everywhere(session: Session) -> Response:
    """End all sessions of the person, including this one, or only the session whose id is in the form.

    Instead of an id, the form may contain `OTHERS`.
    """
    client_id, ended = _client_id(session), guard.form().get("session")
    if ended:
        return _end_others(session) if ended == OTHERS else _end(session, ended)
    commit_now(lambda: sessions.stage_sign_out(clients.read(session.workspace_id, client_id)))
    sessions.clear_cache()
    return pages.redirect(f"/{session.workspace_id}", _cookie(session, "", 0))


def _end(session: Session, session_id: str) -> Response:
    """End one of the person's other listed sessions. Do nothing for any other id."""
    others = {one.row.credential_id: one.row for one in open_sessions.list_newest(session)}
    if session_id in others and session_id != session.row.credential_id:
        store.revoke(others[session_id])
    sessions.clear_cache()
    return pages.saved(session.workspace_id, sessions.ACCOUNT, "session_ended")


def _end_others(session: Session) -> Response:
    """End all sessions of the person, also those that the page does not list. Start a new one for this browser."""
    issued = commit_now(lambda: _stage_restart(session))
    sessions.clear_cache()
    cookie = _cookie(session, issued.token, session_store.LIFETIME)
    return pages.redirect(f"/{session.workspace_id}{sessions.ACCOUNT}?saved=session_ended", cookie)


def _stage_restart(session: Session) -> NewCredential:
    client = clients.read(session.workspace_id, _client_id(session))
    document = client.open()
    rights.require_valid(session, client, document)
    sessions.stage_sign_out(client)
    return sessions.stage_new(session, client, document)


def _save_preferences(session: Session) -> Response:
    sent = guard.form()
    values = {name: sent.get(name, "").strip() for name in ("preferredLanguage", "timezone")}
    values = time_zones.with_named(values)
    try:
        if values["timezone"]:
            clock.time_zone(values["timezone"])
    except ValueError:
        error = errors.Invalid.member("timezone", guard.texts(session)("wrong.tz"))
        return _page(session, error, {**values, "theme": _theme(sent)})
    if values["preferredLanguage"] not in pages.LANGUAGES:
        values["preferredLanguage"] = ""
    cookie = operator_selection.preferences_cookie(session, {**values, **_first_steps(sent.get("firstSteps"))})
    return _saved(session, cookie)


def _submitted_values(client: Document, sent: dict[str, str]) -> dict[str, Any]:
    """Return the submitted values. A city becomes the name of its time zone."""
    return time_zones.with_named(fields.submitted_values(_fields(client).fields, sent))


def _saved(session: Session, *cookies: str) -> Response:
    chosen = pages.cookie(theme.COOKIE, session.workspace_id, _theme(guard.form()), theme.SECONDS)
    return pages.redirect(f"/{session.workspace_id}{sessions.ACCOUNT}?saved=true", [*cookies, chosen])


def _theme(sent: dict[str, str]) -> str:
    return theme.valid(sent.get("theme", ""))


def _hide_steps(session: Session) -> Response:
    cookie = operator_selection.preferences_cookie(session, _first_steps(""))
    return pages.redirect(f"/{session.workspace_id}/overview", cookie)


def _first_steps(choice: str | None) -> dict[str, str]:
    return {operator_selection.FIRST_STEPS: "" if choice else operator_selection.HIDDEN}


def _notifications(client: Document, sent: dict[str, str]) -> Document:
    """Return the members for the submitted choice, or none if the choice is unchanged, to keep unknown settings."""
    choice = "on" if sent.get("notify") else ""
    return preferences.BY_STATE[choice] if preferences.by_email(client) != bool(choice) else {}


def _change_sign_in(session: Session, member: str, current: str, new: str) -> Document:
    """Return the stored change of the person's password or email.

    Raise a form error, Forbidden, TooManyAttempts, and PreconditionFailed if another request has changed the client.
    """
    client = clients.read(session.workspace_id, _client_id(session))
    _require_current(session, client, member, current)
    change = {member: _new_email(session, client.open(), new) if member == _EMAIL else new}
    if change == {_PASSWORD: current}:
        raise guard.form_error(session, f"{_PASSWORD}.same")
    before = client.open()
    try:
        commit_now(lambda: calls.send("POST", _CLIENT, change, f'"{client.version_tag}"', client_id=client.client_id))
    except clients.EmailTaken:
        raise guard.form_error(session, _EMAIL, clients.EmailTaken) from None
    change_notices.send(client.workspace, client.client_id, before, change)
    return change


def _require_current(session: Session, client: clients.ClientRow, member: str, password: str) -> None:
    """Raise a form error unless this is the person's current password, and Forbidden and TooManyAttempts."""
    document = client.open()
    if not sessions.check_password(session.workspace_id, document, password, guard.address()):
        raise errors.Invalid.member(_CURRENT[member], guard.texts(session)("wrong.currentPassword"))
    rights.require_valid(session, client, document)


def _new_email(session: Session, client: Document, text: str) -> str:
    """Return the email that replaces an administrator's. Raise a form error and Forbidden."""
    if not client.get("isOrgAdmin"):
        raise errors.Forbidden(guard.texts(session)("email_by_admin"))
    if text.strip() in ("", client.get(_EMAIL)):
        raise guard.form_error(session, f"{_EMAIL}.same")
    return text.strip()


def _client_id(session: Session) -> str:
    if session.client_id is None:
        raise errors.Forbidden("A workspace key has no profile.")
    return session.client_id


def _fields(client: Document) -> fields.FieldsThatFit:
    return fields.fields_that_fit(_FIELDS, client, record_forms.MAX_FORM_BYTES)


def _cookie(session: Session, token: str, seconds: int) -> str:
    return pages.cookie(sessions.COOKIE, session.workspace_id, token, seconds)


def _page(session: Session, error: errors.ApiError | None = None, values: dict[str, Any] | None = None) -> Response:
    client_id, client = session.client_id, session.client
    displayed, stored = _fields(client), client.get("preferredLanguage")
    default = "as_organisation" if client_id else "default"
    return guard.form_page(
        session,
        "account.html",
        sessions.ACCOUNT,
        error,
        values={
            PHOTO: "",
            "theme": theme.from_request(),
            _EMAIL: client.get(_EMAIL) or "",
            **fields.values(displayed.fields, client),
            **(values or {}),
        },
        left_out=displayed.left_out,
        languages=record_forms.choices(guard.texts(session), default, "language", pages.LANGUAGES, stored),
        zones=time_zones.ZONES,
        is_notified=preferences.by_email(client),
        problem=recipients.problem(session.workspace_id, client_id, client) if client_id else None,
        saved=current_request.query_value("saved"),
        themes=theme.THEMES,
        open_sessions=open_sessions.list_newest(session),
        started_at=int(session.row.created_at),
        ends_at=session.row.ends_at,
        key=session.key,
        workspace=calls.get("/v3/workspace")["data"] if client_id is None else {},
    )
