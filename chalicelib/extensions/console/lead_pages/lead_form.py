"""The page of a lead: the person, what was said, and the forms to correct and delete the lead."""

import hashlib
import json
import re
from contextlib import suppress
from functools import partial
from typing import Any
from urllib.parse import quote

from chalice.app import Response

from chalicelib import errors
from chalicelib.extensions.console.access import calls, guard, organisation_list
from chalicelib.extensions.console.access.calls import commit_now
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.lead_pages import lead_context, lead_corrections, lead_status, leads, older_leads
from chalicelib.extensions.console.presentation import fields, pages, record_forms
from chalicelib.extensions.console.presentation.fields import TEXT, Field
from chalicelib.extensions.console.settings_pages import erasures
from chalicelib.http import current_request
from chalicelib.ids import IDENTIFIER
from chalicelib.leads import store
from chalicelib.storage import Document

_PATH = "/v3/leads/{lead_id}"
_FIELDS = (Field("name", TEXT), Field("email", TEXT), Field("phone", TEXT))
_DELETE = "delete"
# An address that mail can reach. The API accepts any text, as agents capture what visitors type.
_EMAIL = re.compile(r"[^@\s]+@[^@\s.]+(\.[^@\s.]+)+")


@signed_in("/leads")
def read_lead(session: Session, agent_id: str, lead_id: str) -> Response:
    """Show a lead with its conversation, the person's other leads, and a form."""
    lead, _ = _read(session, agent_id, lead_id)
    return _page(session, lead, fields.values(_fields(lead).fields, lead))


@signed_in("/leads")
def save_lead(session: Session, agent_id: str, lead_id: str) -> Response:
    """Save the form or the status, correct the person's older leads, or delete the lead.

    If the lead has changed since the form was shown, save nothing and show the differences.
    """
    sent = guard.form()
    if sent.get("action") == _DELETE:
        return _delete(session, agent_id, lead_id)
    if "status" in sent:
        _read(session, agent_id, lead_id)
        lead_status.save([lead_id], sent["status"])
        return pages.saved(session.workspace_id, f"/leads/{quote(agent_id)}/{lead_id}", "true")
    if older_leads.PARAMETER in sent and "tag" not in sent:
        return _correct_older(session, agent_id, lead_id, sent)
    return _save(session, agent_id, lead_id, sent)


def _save(session: Session, agent_id: str, lead_id: str, sent: dict[str, str]) -> Response:
    lead, tag = _read(session, agent_id, lead_id)
    own = _fields(lead).fields
    values = fields.submitted_values(own, sent)

    def save() -> Response:
        result, older = {}, ""
        # Other leads get the details of a lead that has been corrected before, too.
        unchanged = {name: text for name, text in stored.items() if text} if "others" in sent else {}
        if change := fields.change(own, lead, values) or unchanged:
            if change.get("email") and not _EMAIL.fullmatch(change["email"]):
                raise guard.form_error(session, "email.address")
            result = lead_corrections.save(session, lead, tag, change, others)._asdict()
            older = older_leads.parameter(session, lead, change) if {"others", "has_older"} <= sent.keys() else ""
        return _saved(session, lead, older=older, **{name: number or "" for name, number in result.items()})

    others, stored = sent.get("others", "").split(), fields.values(own, lead)
    show = partial(_page, session, lead, values, chosen=sent.get("others"))
    return record_forms.save_form(sent, _form_tag(stored), stored, values, show, save)


def _form_tag(values: dict[str, Any]) -> str:
    """Return a digest of the form's stored values. A change of the status alone does not interrupt a correction."""
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()[:32]


def _correct_older(session: Session, agent_id: str, lead_id: str, sent: dict[str, str]) -> Response:
    """Correct the older leads in the form, and continue with the older leads that have not been compared, if any."""
    lead, _ = _read(session, agent_id, lead_id)
    result = older_leads.correct(session, lead, sent)
    cursor = sent.get("cursor", "")
    older = sent[older_leads.PARAMETER] if cursor else ""
    return _saved(session, lead, older=older, cursor=cursor, corrected=result.corrected, kept=result.kept or "")


def _saved(session: Session, lead: Document, **result: str | int) -> Response:
    """Redirect to the page of the lead, which shows the result. Empty members are omitted."""
    shown = {name: str(value) for name, value in result.items() if value != ""}
    return pages.saved(session.workspace_id, f"/leads/{quote(lead['agentId'])}/{lead['id']}", "true", **shown)


def _delete(session: Session, agent_id: str, lead_id: str) -> Response:
    leads.require_administrator(session)
    with suppress(errors.NotFound):  # the form has been submitted twice
        _read(session, agent_id, lead_id)
        commit_now(lambda: calls.send("DELETE", _PATH, None, lead_id=lead_id))
    return pages.saved(session.workspace_id, "/leads", "lead_deleted")


def _read(session: Session, agent_id: str, lead_id: str) -> tuple[Document, str]:
    """Return an agent's lead, and its entity tag. Raise NotFound, also for another agent's lead.

    The API hides members that it does not define, such as `convoId`, from people. The page uses them for its link.
    """
    row = store.find(session.workspace_id, lead_id) if IDENTIFIER.fullmatch(lead_id) else None
    lead = row.open() if row else {}
    if row is None or lead.get("agentId") != agent_id:
        raise errors.NotFound.of("lead")
    return {"id": lead_id, **lead}, f'"{row.version_tag}"'


def _fields(lead: Document) -> fields.FieldsThatFit:
    return fields.fields_that_fit(_FIELDS, lead, record_forms.MAX_FORM_BYTES)


def _page(
    session: Session,
    lead: Document,
    values: dict[str, Any],
    error: errors.ApiError | None = None,
    conflicts: Any = (),
    chosen: str | None = None,
) -> Response:
    left_out = _fields(lead).left_out
    result: Document = {name: current_request.query_value(name) or "" for name in ("saved", "corrected", "kept")}
    return guard.form_page(
        session,
        "lead.html",
        "/leads",
        error,
        conflicts,
        lead=lead,
        tag=_form_tag(fields.values(_fields(lead).fields, lead)),
        values=values,
        left_out=left_out,
        conversation=leads.conversation_of(lead),
        **lead_context.conversation_of(session, lead),
        **lead_context.others_of(session, lead),
        **older_leads.read(session, lead),
        organisation=organisation_list.names_by_agent(session).get(lead["agentId"]),
        statuses=lead_status.STATUSES,
        lead_status=lead_status.status_of(lead),
        is_for_others=chosen is not None,
        **result,
        erasure=erasures.address_of(session, {name: lead.get(name) for name in ("userID", "email", "phone")}),
    )
