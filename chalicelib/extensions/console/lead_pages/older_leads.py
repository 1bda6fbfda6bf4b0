"""Continues a correction with the person's older leads, which still have the former details.

A page compares up to 500 leads, and a commit corrects up to 24. Therefore, the page of a corrected lead shows how many
it has found, asks before it corrects them, and continues from there.
"""

import json
from functools import partial
from typing import NamedTuple

from chalicelib import errors
from chalicelib.extensions.console.access import calls, session_store, visible_agents
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.lead_pages import lead_corrections, lead_ranges, leads
from chalicelib.extensions.console.lead_pages.lead_corrections import MAX_OTHERS, Contact, Correction
from chalicelib.http import current_request
from chalicelib.http.pages import examine, take_bounded
from chalicelib.leads.store import LeadRow
from chalicelib.storage import Document

PARAMETER = "older"
"""The query parameter and the form field that contain the former contact and the corrected members."""
_MEMBERS = ("name", "email", "phone")  # that a correction may change


class _Former(NamedTuple):
    """A person's contact before a correction, and the members that it changed."""

    contact: Contact
    members: list[str]


def parameter(session: Session, lead: Document, change: Document) -> str:
    """Return the parameter for a lead as it was before a change, such as `name,phone:email:ann@example.com`.

    It is signed for the session, so that no link from elsewhere can ask the person to replace other leads.
    """
    text = ":".join((",".join(name for name in _MEMBERS if name in change), *lead_corrections.contact_of(lead)))
    return session_store.selection_token(session.token, PARAMETER, text)


def read(session: Session, lead: Document) -> Document:
    """Return the template variables for the older leads with the former details, if the address has these.

    This costs one request for the agents, and up to five for 500 leads, or as many for each of several agents.
    """
    text = current_request.query_value(PARAMETER) or ""
    if not text:
        return {"older": None}
    titles, query = visible_agents.read(session).titles, lead_ranges.EVERY_LEAD._replace(after=leads.cursor())
    former = _parse(session, text)
    examined = examine(leads.rows(session, titles, query), partial(_listed, lead, former))
    records, position = take_bounded(examined, MAX_OTHERS)
    older_ids = [json.loads(record)["id"] for record in records]
    return {"older": text, "older_ids": older_ids, "older_cursor": position, "former": former.contact.text}


def correct(session: Session, lead: Document, sent: dict[str, str]) -> Correction:
    """Give the form's leads the details of this lead, in one commit, as `lead_corrections.save` does."""
    former = _parse(session, sent.get(PARAMETER, ""))
    change = {name: lead.get(name) for name in former.members}
    lead_ids = sent.get("others", "").split()
    return calls.commit_now(lambda: lead_corrections.correct_others(session, former.contact, change, lead_ids))


def _parse(session: Session, parameter: str) -> _Former:
    """Return the parameter's parts. Raise Invalid, also for the parameter of another session."""
    text = session_store.selected_id(session.token, PARAMETER, parameter) or ""
    members, member, contact = [*text.split(":", 2), "", ""][:3]
    changed = members.split(",")
    if member not in leads.PERSON or not contact or not {*changed} <= {*_MEMBERS}:
        raise errors.Invalid.member(PARAMETER, "must be the address of the page after a correction")
    return _Former(Contact(member, contact), changed)


def _listed(lead: Document, former: _Former, row: LeadRow, other: Document) -> Document | None:
    """Return the id of another lead that has the former contact and any other detail than this lead."""
    is_old = row.lead_id != lead["id"] and former.contact.is_of(other)
    differs = any((other.get(name) or "") != (lead.get(name) or "") for name in former.members)
    return {"id": row.lead_id} if is_old and differs else None
