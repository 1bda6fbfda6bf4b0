"""The settings pages of organisations.

The API operations on organisations and clients require the workspace key. Therefore, this module checks an
administrator's permissions before each operation: they may change only their organisation's records, and only the
members in their forms.
"""

from contextlib import suppress
from functools import partial
from typing import Any

from chalice.app import Response

from chalicelib import errors
from chalicelib.extensions.console.access import calls, guard, rights, sessions, visible_agents
from chalicelib.extensions.console.access.calls import commit_now
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.account_pages import one_time_links, sign_in_status
from chalicelib.extensions.console.inbox_pages import inbox
from chalicelib.extensions.console.notifications import mail_settings, recipients
from chalicelib.extensions.console.presentation import fields, pages, record_forms, time_zones
from chalicelib.extensions.console.presentation.fields import FLAG, LINES, TEXT, Field
from chalicelib.extensions.console.presentation.rendering import Texts
from chalicelib.http import auth, current_request
from chalicelib.storage import Document

_PATH = "/v2/orgs/{org_id}"
_FIELDS = (
    Field("name", TEXT), Field("squarePhotoURL", TEXT), Field("preferredLanguage", TEXT), Field("timezone", TEXT),
    Field("dashboardLayout", TEXT),
)  # fmt: skip
_OF_OPERATORS = (Field("widgetIDs", LINES), Field("canSelfEdit", FLAG), Field("disallowAnyTags", FLAG))
# The members of a person in the list of people.
_LISTED_MEMBERS = ("ID", "name", "email", "squarePhotoURL", "isOrgAdmin", "disabled")
# The maximum number of agents that the organisation's page lists.
_LISTED_AGENTS = 8
LAYOUTS = ("vertical", "horizontal")


@signed_in("/settings")
def read_organisation(session: Session, org_id: str) -> Response:
    """Show an organisation's form and its people."""
    rights.require_organisation(session, org_id)
    organisation, tag = calls.read(_PATH, org_id=org_id)
    return _page(session, organisation, tag, fields.values(_fields(session, organisation).fields, organisation))


@signed_in("/settings")
def save_organisation(session: Session, org_id: str) -> Response:
    """Save the form. If the organisation has changed in the meantime, save nothing and show the differences."""
    rights.require_organisation(session, org_id)
    organisation, tag = calls.read(_PATH, org_id=org_id)
    if not _may_edit(session, organisation):
        raise errors.Forbidden("Only the operator of the service can change your organisation.")
    sent, own = guard.form(), _fields(session, organisation).fields
    values = time_zones.with_named(fields.submitted_values(own, sent))
    show = partial(_page, session, organisation, tag, values)
    save = partial(_save, session, organisation, tag, values)
    return record_forms.save_form(sent, tag, fields.values(own, organisation), values, show, save)


@signed_in("/settings")
def delete_organisation(session: Session, org_id: str) -> Response:
    """Delete an organisation as an operator. Its agents and people stay, but its people see no agents."""
    if session.client_id is not None:
        raise errors.Forbidden("Only operators can delete an organisation.")
    with suppress(errors.NotFound):  # the form has been submitted twice
        commit_now(lambda: calls.send("DELETE", "/v3/orgs/{org_id}", None, org_id=org_id))
    sessions.clear_cache()
    return pages.saved(session.workspace_id, "/settings", "organisation_deleted")


def _fields(session: Session, organisation: Document) -> fields.FieldsThatFit:
    """Return the members that the person may change.

    Only operators select agents, which may belong to other organisations.
    """
    own = _FIELDS + _OF_OPERATORS if session.client_id is None else _FIELDS
    return fields.fields_that_fit(own, organisation, record_forms.MAX_FORM_BYTES)


def _may_edit(session: Session, organisation: Document) -> bool:
    return session.client_id is None or bool(organisation.get("canSelfEdit"))


def _save(session: Session, organisation: Document, tag: str, values: dict[str, Any]) -> Response:
    """Change an organisation that was read with this entity tag to the submitted values, and show it."""
    change = fields.change(_fields(session, organisation).fields, organisation, values)
    body, org_id = {"name": organisation["name"], **change}, organisation["ID"]
    answer = commit_now(lambda: calls.send("POST", _PATH, body, tag, org_id=org_id))
    sessions.clear_cache()
    # The API warns about missing agents.
    saved = "unknown_agents" if answer.get("warnings") else "saved"
    return pages.saved(session.workspace_id, f"/settings/orgs/{org_id}", saved)


def _choices(t: Texts, organisation: Document) -> dict[str, list[tuple[str, str]]]:
    return {
        name: record_forms.choices(t, "default", group, known, organisation.get(name))
        for name, group, known in (
            ("preferredLanguage", "language", pages.LANGUAGES),
            ("dashboardLayout", "layout", LAYOUTS),
        )
    }


def _people(session: Session, org_id: str, query: Document) -> tuple[list[Document], str | None]:
    """Return a page of an organisation's people, without secrets, and the next page's cursor.

    `has_password` is whether the person has a password, `may_invite` whether the session's person may send them a link
    to set one, `invited_at` when the newest valid link was sent, and `signed_in_at` when they last signed in, or None.
    """
    with auth.acting_as(session.caller()._replace(scopes=None)):  # otherwise, the response omits passwords
        page = calls.get("/v3/orgs/{org_id}/clients", query, org_id=org_id)
    people = [_listed(session, client) for client in page["data"]]
    links = one_time_links.valid_by_client(
        session.workspace_id, [person["ID"] for person in people if person["may_invite"]]
    )
    invited = {client_id: int(link.sent_at) for client_id, link in links.items()}
    sign_ins = sign_in_status.list_sign_ins(session.workspace_id) if people else {}
    facts = [{"invited_at": invited.get(one["ID"]), "signed_in_at": sign_ins.get(one["ID"])} for one in people]
    return [{**one, **added} for one, added in zip(people, facts, strict=True)], page.get("nextCursor")


def _listed(session: Session, client: Document) -> Document:
    has_password = bool(client.get("dashboardPassword"))
    gets_links = mail_settings.are_complete() and recipients.can_receive(client)
    may_invite = gets_links and not has_password and rights.covers(session, client)
    shown = {name: client.get(name) for name in _LISTED_MEMBERS}
    return {**shown, "has_password": has_password, "may_invite": may_invite}


def _waiting(session: Session, organisation: Document) -> str:
    """Return how many of the organisation's conversations wait for a person, as a text, for operators only."""
    if session.client_id is not None:
        return ""
    return inbox.waiting_by_agent(session).text(organisation.get("widgetIDs") or ())


def _page(
    session: Session,
    organisation: Document,
    tag: str,
    values: dict[str, Any],
    error: errors.ApiError | None = None,
    conflicts: Any = (),
) -> Response:
    query = {"limit": 100, "cursor": current_request.query_value("cursor")}
    people, following = _people(session, organisation["ID"], query)
    return guard.form_page(
        session,
        "organisation.html",
        "/settings",
        error,
        conflicts,
        organisation=organisation,
        may_edit=_may_edit(session, organisation),
        tag=tag,
        values=values,
        left_out=_fields(session, organisation).left_out,
        choices=_choices(guard.texts(session), organisation),
        zones=time_zones.ZONES,
        people=people,
        agents=visible_agents.titles_of(session.workspace_id, (organisation.get("widgetIDs") or [])[:_LISTED_AGENTS]),
        waiting=_waiting(session, organisation),
        following=following,
        sends_mail=mail_settings.are_complete(),
        saved=current_request.query_value("saved"),
        invited=current_request.query_value("person"),
    )
