"""Corrects a lead and, if the person chooses so, the same visitor's other leads that the form listed."""

from contextlib import suppress
from typing import NamedTuple

from chalicelib import errors, storage
from chalicelib.extensions.console.access import calls, guard
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.lead_pages import leads
from chalicelib.ids import IDENTIFIER
from chalicelib.leads import store
from chalicelib.storage import Document, parent_scoped_ids

_PATH = "/v3/leads/{lead_id}"
MAX_OTHERS = 24
"""The maximum number of other leads in one commit."""


class Contact(NamedTuple):
    """A lead's email, or else its phone number, which identifies the person. `text` may be empty."""

    member: str
    text: str

    def is_of(self, lead: Document) -> bool:
        """Return whether another lead has this contact, regardless of case as in the list."""
        other = leads.first_text(lead, (self.member,))[1]
        return bool(self.text) and other.casefold() == self.text.casefold()


class Correction(NamedTuple):
    """How many other leads were corrected, and how many kept their details because they had changed."""

    corrected: int
    kept: int


def contact_of(lead: Document) -> Contact:
    """Return a lead's contact."""
    return Contact(*leads.first_text(lead, leads.PERSON))


def save(session: Session, lead: Document, tag: str, change: Document, other_ids: list[str]) -> Correction:
    """Change a lead that was read with this entity tag, and the other leads, in one commit.

    Another lead keeps its details if it has been deleted, or no longer has the contact that the lead had. Raise the
    errors of the operation, and NotFound if the person cannot see another lead's agent.
    """
    _require_different([lead["id"], *other_ids])

    def save_all() -> Correction:
        calls.send("PATCH", _PATH, {"lead": change}, tag, lead_id=lead["id"])
        return correct_others(session, contact_of(lead), change, other_ids)

    return calls.commit_now(save_all)


def correct_others(session: Session, contact: Contact, change: Document, lead_ids: list[str]) -> Correction:
    """Stage the change of the leads that still have the contact, as `save` does."""
    if len(lead_ids) > MAX_OTHERS or not all(map(IDENTIFIER.fullmatch, lead_ids)):
        raise errors.Invalid("The form has invalid leads.")
    _require_different(lead_ids)
    corrected = sum(_correct(session, contact, row, change) for row in _find(session, lead_ids))
    return Correction(corrected, len(lead_ids) - corrected)


def _require_different(lead_ids: list[str]) -> None:
    if len({*lead_ids}) < len(lead_ids):
        raise errors.Invalid("The form contains a lead twice.")


def _correct(session: Session, contact: Contact, row: store.LeadRow, change: Document) -> bool:
    """Correct another lead if it still has the contact. Return whether this is so."""
    other = row.open()
    guard.require_agent(session, other["agentId"])
    if not contact.is_of(other):
        return False
    with suppress(errors.NotFound, errors.PreconditionFailed):  # another request changes it at this moment
        calls.send("PATCH", _PATH, {"lead": change}, f'"{row.version_tag}"', lead_id=row.lead_id)
        return True
    return False


def _find(session: Session, lead_ids: list[str]) -> list[store.LeadRow]:
    partition_of = parent_scoped_ids.partition_of
    keys = [storage.Key(store.LeadRow, partition_of(session.workspace_id, one), one) for one in lead_ids]
    return [row for row in storage.find_many(keys) if row]
