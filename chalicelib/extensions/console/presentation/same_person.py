"""Compares conversations and leads with a person. The module performs no I/O.

They are compared as an erasure does: emails regardless of case, ids and phone numbers exactly. An erasure also searches
nested members, events, analytics records and stored responses.
"""

from chalicelib.extensions.console.inbox_pages.inbox import VISITOR
from chalicelib.http import parameters
from chalicelib.storage import Document


def known_values(person: Document) -> dict[str, str]:
    """Return the values of `userID`, `email` and `phone` that identify a person.

    Values of more than 200 characters are omitted, because a truncated value could identify another person.
    """
    return {
        name: text
        for name, text in person.items()
        if isinstance(text, str) and text.strip() and len(text) <= parameters.MAX_TEXT
    }


def visitor_of(metadata: Document) -> dict[str, str]:
    """Return the values that identify a conversation's visitor, by the name of their filter."""
    values = {name: metadata.get(member) for name, member in VISITOR.items()}
    if values["userID"] == metadata["ID"]:  # the default of a conversation without a visitor's id
        del values["userID"]
    return known_values(values)


def has_conversation(person: dict[str, str], metadata: Document) -> bool:
    """Return whether one of the person's values identifies a conversation's visitor."""
    values = {name: metadata.get(member) for name, member in VISITOR.items()}
    return metadata.get("ID") == person.get("userID") or any(
        _is_equal(name, values[name], text) for name, text in person.items()
    )


def has_lead(person: dict[str, str], lead: Document) -> bool:
    """Return whether a lead has the person's id, or the email or phone number in any member."""
    ids = {"userID": [lead.get("userID")]}
    return any(
        _is_equal(name, value, text) for name, text in person.items() for value in ids.get(name, [*lead.values()])
    )


def _is_equal(name: str, value: object, text: str) -> bool:
    return isinstance(value, str) and (value == text or (name == "email" and value.casefold() == text.casefold()))
