"""Corrects a lead and, if the person chooses so, the same visitor's other leads that the form listed."""

from contextlib import suppress
from typing import NamedTuple

from chalicelib import errors, storage
from chalicelib.extensions.console import calls, guard, leads
from chalicelib.extensions.console.sessions import Session
from chalicelib.ids import IDENTIFIER
from chalicelib.leads import store
from chalicelib.storage import Document, parent_scoped_ids

_PATH = "/v3/leads/{lead_id}"
MAX_OTHERS = 24
"""The maximum number of other leads in one commit."""


class Correction(NamedTuple):
    """How many other leads were corrected, and how many kept their details because they had changed."""

    corrected: int
    kept: int


def save(session: Session, lead: Document, tag: str, change: Document, other_ids: list[str]) -> Correction:
    """Change a lead that was read with this entity tag, and the other leads, in one commit.

    Another lead keeps its details if it has been deleted, or no longer has the contact that the lead had. Raise the
    errors of the operation, and NotFound if the person cannot see another lead's agent.
    """
    if len(other_ids) > MAX_OTHERS or not all(map(IDENTIFIER.fullmatch, other_ids)):
        raise errors.Invalid("The form has invalid leads.")

    def save_all() -> Correction:
        calls.send("PATCH", _PATH, {"lead": change}, tag, lead_id=lead["id"])
        corrected = sum(_correct(session, lead, row, change) for row in _find(session, other_ids))
        return Correction(corrected, len(other_ids) - corrected)

    return calls.commit_now(save_all)


def _correct(session: Session, lead: Document, row: store.LeadRow, change: Document) -> bool:
    """Correct another lead if it still has the lead's contact. Return whether this is so."""
    other = row.open()
    guard.require_agent(session, other["agentId"])
    member, text = leads.first_text(lead, leads.PERSON)
    if not text or leads.first_text(other, (member,))[1] != text:
        return False
    with suppress(errors.NotFound, errors.PreconditionFailed):  # another request changes it at this moment
        calls.send("PATCH", _PATH, {"lead": change}, f'"{row.version_tag}"', lead_id=row.lead_id)
        return True
    return False


def _find(session: Session, lead_ids: list[str]) -> list[store.LeadRow]:
    partition_of = parent_scoped_ids.partition_of
    keys = [storage.Key(store.LeadRow, partition_of(session.workspace_id, one), one) for one in lead_ids]
    return [row for row in storage.find_many(keys) if row]
