"""The people pages, on which administrators add and change an organisation's clients."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

from chalice.app import Response

from chalicelib import errors
from chalicelib.clients import store as clients
from chalicelib.extensions.console import queue
from chalicelib.extensions.console.access import calls, guard, rights, sessions, view_as
from chalicelib.extensions.console.access.calls import commit_now
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.account_pages import change_notices, one_time_links, sign_in_status
from chalicelib.extensions.console.notifications import mail_settings, preferences, recipients
from chalicelib.extensions.console.presentation import fields, pages, record_forms, rendering
from chalicelib.extensions.console.presentation.fields import FLAG, TEXT, Field
from chalicelib.extensions.console.queue import SendLink
from chalicelib.extensions.console.settings_pages import invitations
from chalicelib.http import auth
from chalicelib.storage import Document

_PATH = "/v2/clients/{client_id}"
_FIELDS = (Field("name", TEXT), Field("email", TEXT))
_RIGHTS = (Field("isOrgAdmin", FLAG), Field("disabled", FLAG))
_NOTIFY, _PASSWORD, _ACCESS = "notify", "dashboardPassword", "canAccess"
# The field for the settings, which only administrators can open. New administrators always may.
_SETTINGS = f"{_ACCESS}./settings"
# The members without which a client cannot sign in.
_SIGN_IN = ("email", _PASSWORD)
REMOVE, INVITE, VIEW = "remove", "invite", "view"
"""The values of the field `action`: remove a person, send them a link for a password, or view the console as them."""


@signed_in("/settings")
def read_new_client(session: Session, org_id: str) -> Response:
    """Show the form for a new person, who by default gets emails, and may open the pages of the session's person."""
    rights.require_organisation(session, org_id)
    return _page(session, org_id, {}, "", {**_values({_ACCESS: session.client.get(_ACCESS)}), _NOTIFY: "on"})


@signed_in("/settings")
def create_client(session: Session, org_id: str) -> Response:
    """Add a person to the organisation, or invite several people and show the results."""
    rights.require_organisation(session, org_id)
    sent = invitations.with_one_address(guard.form())
    values = _submitted_values({}, {**sent, **({_SETTINGS: "on"} if sent.get("isOrgAdmin") else {})})

    def create(email: str) -> Document:
        members = _change({}, {**values, "email": email}, sent, session)
        return _create(session, org_id, members, sent.get("form_id"))

    try:
        if addresses := invitations.several(session, sent):
            return invitations.page(session, org_id, addresses, create)
        created = create(values["email"])
    except errors.ApiError as error:
        return _page(session, org_id, {}, "", values, error=error)
    return _to_organisation(session, org_id) if sent.get(_PASSWORD) else _send_link(session, created)


@signed_in("/settings")
def read_client(session: Session, org_id: str, client_id: str) -> Response:
    """Show the form for a person in the organisation. A person's own record is in their profile."""
    client, tag = _read(session, org_id, client_id)
    if _is_own(session, client):
        return pages.redirect(f"/{session.workspace_id}{sessions.ACCOUNT}")
    return _page(session, org_id, client, tag, _values(client))


@signed_in("/settings")
def save_client(session: Session, org_id: str, client_id: str) -> Response:
    """Save the form. If the record has changed since the form was shown, save nothing and show the differences."""
    (client, tag), sent = _read(session, org_id, client_id), guard.form()
    if _is_own(session, client):
        raise errors.Forbidden("Change your own record in your profile.")
    if action := _ACTIONS.get(sent.get("action", "")):
        return action(session, client, tag)
    values = _submitted_values(client, sent)
    show, save = partial(_page, session, org_id, client, tag, values), partial(_change_client, session, client, tag)
    return record_forms.save_form(sent, tag, _values(client), values, show, lambda: save(values, sent))


def add(session: Session, org_id: str, sent: dict[str, str]) -> Document:
    """Stage a person who may open the pages of their role, and gets emails. Return the client. Raise Invalid."""
    allowed = {f"{_ACCESS}.{page}": "on" for page in pages.NAVIGATION if page != "/settings" or sent.get("isOrgAdmin")}
    members = _change({}, _submitted_values({}, {**sent, **allowed, _NOTIFY: "on"}), sent, session)
    _require_new(session, org_id, members)
    return dict(calls.send("POST", "/v3/clients", {"client": {**members, "orgId": org_id}})["data"])


def invite(session: Session, client_id: str) -> None:
    """Send a person a link to set a password. Raise Unavailable."""
    queue.send(session.workspace_id, [SendLink(session.workspace_id, client_id, one_time_links.INVITATION)])


def issues(session: Session, error: errors.ApiError | None) -> dict[str, str]:
    """Return the broken rules by field, including an email that someone else has."""
    is_taken = isinstance(error, clients.EmailTaken)
    return {"email": guard.texts(session)("wrong.email")} if is_taken else dict(guard.rules(session, error))


def _create(session: Session, org_id: str, members: Document, form_id: str | None) -> Document:
    """Create a person in the organisation, once per form, and return the client. Raise Forbidden and Invalid."""
    body = {"client": {**members, "orgId": org_id}}
    created = calls.send_once(form_id, "/v3/clients", body, lambda: _require_new(session, org_id, body["client"]))
    return dict(created["data"])


def _change_client(
    session: Session, client: Document, tag: str, values: dict[str, Any], sent: dict[str, str]
) -> Response:
    _save(session, client, _change(client, values, sent, session), tag)
    return _to_organisation(session, client["orgId"])


def _read(session: Session, org_id: str, client_id: str) -> tuple[Document, str]:
    """Return a person in the organisation, and the record's entity tag. Raise Forbidden and NotFound.

    Instead of the password, the person has the member `hasPassword`.
    """
    rights.require_organisation(session, org_id)
    with auth.acting_as(session.caller()._replace(scopes=None)):  # otherwise, the response omits the password
        client, tag = calls.read(_PATH, client_id=client_id)
    if client.get("orgId") != org_id:
        raise errors.NotFound.of("client")
    return {**client, "hasPassword": bool(client.pop(_PASSWORD, None))}, tag


def _save(session: Session, client: Document, change: Document, tag: str) -> None:
    """Change a client that was read with this entity tag, if the session has the required permissions."""

    def run() -> None:
        rights.require(session, client["orgId"], client, {**client, **change})
        calls.send("POST", _PATH, change, tag, client_id=client["ID"])

    commit_now(run)
    if client["hasPassword"]:
        change_notices.send(session.workspace_id, client["ID"], client, change)
    sessions.clear_cache()


def _remove(session: Session, client: Document, tag: str) -> Response:
    """Delete a client that was read with this entity tag. Raise Forbidden."""

    def run() -> None:
        rights.require(session, client["orgId"], client, client)
        calls.send("DELETE", _PATH, None, tag, client_id=client["ID"])

    commit_now(run)
    sessions.clear_cache()
    return _to_organisation(session, client["orgId"], "removed")


def _invite(session: Session, client: Document, _: str) -> Response:
    """Send a person a link to set a password. Raise Forbidden, and Invalid if no email can be sent to the person."""
    if not _gets_links(client):
        raise errors.Invalid(guard.texts(session)("no_mail.address"))
    commit_now(lambda: rights.require(session, client["orgId"], client, client))
    return _send_link(session, client)


def _send_link(session: Session, client: Document) -> Response:
    invite(session, client["ID"])
    return _to_organisation(session, client["orgId"], "invited", person=client["ID"])


def _gets_links(client: Document) -> bool:
    return mail_settings.are_complete() and recipients.can_receive(client)


def _require_new(session: Session, org_id: str, client: Document) -> None:
    """Check that the session's person may add a client, and that the client can sign in. Raise Invalid.

    A client without a password gets a link to set a password, if the service sends emails.
    """
    rights.require(session, org_id, rights.NEW, client)
    required = [name for name in _SIGN_IN if name != _PASSWORD or not _gets_links(client)]
    if missing := [name for name in required if not client.get(name)]:
        rules: list[errors.MemberIssue] = [{"path": name, "message": "is required"} for name in missing]
        raise errors.Invalid("A person signs in with an email and a password.", rules)


_ACTIONS: dict[str, Callable[[Session, Document, str], Response]] = {
    REMOVE: _remove,
    INVITE: _invite,
    VIEW: view_as.begin,
}


def _to_organisation(session: Session, org_id: str, saved: str = "saved", **others: str) -> Response:
    return pages.saved(session.workspace_id, f"/settings/orgs/{org_id}", saved, **others)


def _values(client: Document) -> dict[str, Any]:
    """Return a client's field values. No page shows the password."""
    allowed = client.get(_ACCESS)
    opened = {f"{_ACCESS}.{page}": "on" if allowed is None or page in allowed else "" for page in pages.NAVIGATION}
    notify = {_NOTIFY: "on" if preferences.by_email(client) else ""}
    return {**fields.values([*_fields(client).fields, *_RIGHTS], client), **opened, **notify}


def _fields(client: Document) -> fields.FieldsThatFit:
    return fields.fields_that_fit(_FIELDS, client, record_forms.MAX_FORM_BYTES)


def _submitted_values(client: Document, sent: dict[str, str]) -> dict[str, Any]:
    flags = (_NOTIFY, *(f"{_ACCESS}.{page}" for page in pages.NAVIGATION))
    return {
        **fields.submitted_values([*_fields(client).fields, *_RIGHTS], sent),
        **{name: "on" if sent.get(name) else "" for name in flags},
    }


def _change(client: Document, values: dict[str, Any], sent: dict[str, str], session: Session) -> Document:
    """Return the API request body that makes the changes. Raise Invalid."""
    changed = fields.change(_fields(client).fields, client, values)
    if values[_NOTIFY] != _values(client)[_NOTIFY]:
        changed |= preferences.BY_STATE[values[_NOTIFY]]
    if password := sent.get(_PASSWORD):
        changed[_PASSWORD] = password
    return changed | {**fields.change(_RIGHTS, client, values), **_access(session, client, values)}


def _access(session: Session, client: Document, values: dict[str, Any]) -> Document:
    """Return the change to the pages that a client may open.

    A client without `canAccess` may open all pages, including pages in future releases. Only such a client may grant
    this to others.
    """
    if all(values[f"{_ACCESS}.{page}"] == _values(client)[f"{_ACCESS}.{page}"] for page in pages.NAVIGATION) and client:
        return {}
    allowed = [page for page in pages.NAVIGATION if values[f"{_ACCESS}.{page}"]]
    others = [page for page in client.get(_ACCESS) or () if page not in pages.NAVIGATION]
    is_all = len(allowed) == len(pages.NAVIGATION) and not others and session.client.get(_ACCESS) is None
    return {_ACCESS: None if is_all else [*allowed, *others]}


def _is_own(session: Session, client: Document) -> bool:
    return session.client_id is not None and client.get("ID") == session.client_id


def _organisation(session: Session, org_id: str) -> Document:
    """Return the organisation, which a client's session contains. For an operator, this costs one request."""
    if session.client_id is not None:
        return session.organisation
    with suppress(errors.NotFound):  # people stay when their organisation is deleted
        return dict(calls.read("/v2/orgs/{org_id}", org_id=org_id)[0])
    return {"ID": org_id}


def _page(
    session: Session,
    org_id: str,
    client: Document,
    tag: str,
    values: dict[str, Any],
    error: errors.ApiError | None = None,
    conflicts: Any = (),
) -> Response:
    organisation = _organisation(session, org_id)
    return guard.form_page(
        session,
        "client.html",
        "/settings",
        error,
        conflicts,
        issues(session, error),
        org_id=org_id,
        organisation=organisation,
        mail_language=rendering.language_of(client, organisation),
        client=client,
        sign_in=sign_in_status.read(session.workspace_id, client["ID"], client["hasPassword"]) if client else None,
        may_change=rights.covers(session, client or rights.NEW),
        tag=tag,
        values=values,
        left_out=_fields(client).left_out,
        sends_mail=mail_settings.are_complete(),
        most_addresses=invitations.MOST if mail_settings.are_complete() else None,
        gets_links=_gets_links(client),
        problem=recipients.problem(session.workspace_id, client["ID"], client) if client else None,
    )
