"""The leads of a page, grouped by person, and what each visitor asked about."""

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import NamedTuple

from chalicelib import ids, storage
from chalicelib.conversations import store, transcript
from chalicelib.conversations.new_messages import HUMAN
from chalicelib.conversations.rows import ConversationRow, read_metadata
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.presentation import same_person
from chalicelib.extensions.console.presentation.template_filters import display_name, text_of
from chalicelib.storage import Document

_MAX_QUESTION = 200  # characters
# The number of conversations per request, and the size of their content after which no more are read.
_BATCH, _MAX_BYTES = 10, 400_000


class PersonLeads(NamedTuple):
    """A person's leads, and the email or phone number that they have in common, which may be empty."""

    contact: str
    leads: list[Document]


def by_person(leads: Iterable[Document]) -> list[PersonLeads]:
    """Group leads by person. The people are in the order of their first leads, and a person's leads keep their order.

    A person has one email, regardless of case. A phone number without an email belongs to the person who left both, if
    only one person did. Leads without an email and a phone number belong to different people.
    """
    leads = [*leads]
    emails_of_phone: dict[str, set[str]] = {}
    for lead in leads:
        email, phone = _contact(lead)
        if email and phone:
            emails_of_phone.setdefault(phone, set()).add(email)
    people: dict[str, PersonLeads] = {}
    for lead in leads:
        email, phone = _contact(lead)
        known = emails_of_phone.get(phone, set())
        email = email or (next(iter(known)) if len(known) == 1 else "")
        contact = email or phone
        people.setdefault(contact or lead["id"], PersonLeads(contact, [])).leads.append(lead)
    return [*people.values()]


def conversation_id(lead: Document) -> str | None:
    """Return the id of the conversation that a lead names in the member `convoId`, or None."""
    convo_id = lead.get("convoId")
    return convo_id if isinstance(convo_id, str) and ids.IDENTIFIER.fullmatch(convo_id) else None


def questions(session: Session, leads: Iterable[Document]) -> dict[str, str]:
    """Return what the leads' visitors asked about, by lead id: up to 200 characters of the first known message.

    This reads the conversations that the leads name, ten per request, until it has read 400 KB. Later leads have no
    text. At worst it reads almost 400 KB and then ten conversations of 400 KB, which is 550 read units. A long
    conversation's first messages are stored elsewhere and are not read. If no message of the visitor is known, the text
    is the conversation's title.
    """
    keys = {lead["id"]: _key(session, lead) for lead in leads if conversation_id(lead)}
    return dict(_read_questions(keys)) if "/convos" in session.pages else {}


def _read_questions(keys: dict[str, storage.Key]) -> Iterator[tuple[str, str]]:
    """Yield the ids and the texts of leads, until the bytes that may be read are used up."""
    remaining, unread = _MAX_BYTES, iter(keys)
    while remaining > 0 and (batch := [*islice(unread, _BATCH)]):
        rows: list[ConversationRow | None] = storage.find_many([keys[one] for one in batch])
        remaining -= sum(len(row.turns) + len(row.summary or row.metadata or b"") for row in rows if row)
        known = zip(batch, map(store.unless_expired, rows), strict=True)
        yield from ((lead_id, _question(row)) for lead_id, row in known if row)


def _contact(lead: Document) -> tuple[str, str]:
    """Return the lead's email and phone number. Each may be an empty string."""
    known = same_person.known_values({name: lead.get(name) for name in ("email", "phone")})
    return known.get("email", "").strip().casefold(), known.get("phone", "").strip()


def _key(session: Session, lead: Document) -> storage.Key:
    return store.key(session.workspace_id, lead["agentId"], lead["convoId"])._replace(consistent=False)


def _question(row: ConversationRow) -> str:
    newest = (text_of(one.get("item")) for one in transcript.last_messages(row) if one.get("from") == HUMAN)
    first = next((text for text in reversed([*newest]) if text.strip()), "")
    return (first or display_name(read_metadata(row), "title"))[:_MAX_QUESTION]
