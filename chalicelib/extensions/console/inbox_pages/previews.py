"""What a row of a list of conversations shows: the newest message's author, whether it is unanswered, and a place."""

from chalicelib.conversations.new_messages import HUMAN
from chalicelib.conversations.store import HANDOFF, WAITING_STATES
from chalicelib.extensions.console.access import guard
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.presentation.template_filters import display_name, truncate, unix_seconds
from chalicelib.storage import Document

_MAX_NAME = 40
# The labels and captured variables that contain a language or country, with the group of its name in the texts.
_PLACES = (("language", "language"), ("langCode", "language"), ("country", "country"), ("countryCode", "country"))


def is_unanswered(record: Document) -> bool:
    """Return whether a conversation that waits for or is with a person ends with a visitor's message.

    In a search, the row shows the match. `newestFrom` then contains the author of the newest message.
    """
    is_open = record.get("state") in WAITING_STATES
    return is_open and record.get("newestFrom", record.get("lastMessageFrom")) == HUMAN


def needs_answer(record: Document) -> bool:
    """Return whether a conversation waits for a person, or is with a person and unanswered."""
    return record.get("state") == HANDOFF or is_unanswered(record)


def since(record: Document) -> int:
    """Return the Unix time at which a conversation began to wait, or else of the visitor's last message."""
    times = map(record.get, ("waitingSince", "lastMessageTS", "lastModified", "ts"))
    return unix_seconds(next(filter(None, times), None)) or 0


def place(session: Session, record: Document) -> tuple[str, str] | None:
    """Return the code and the name of the visitor's language or else country, or None if neither code is stored."""
    stored, t = {**(record.get("labels") or {}), **(record.get("capturedVariables") or {})}, guard.texts(session)
    for member, group in _PLACES:
        code = str(stored.get(member) or "").partition("-")[0]
        name = t.find(f"{group}.{code.lower() if group == 'language' else code.upper()}")
        if name:
            return code.upper(), name
    return None


def author(session: Session, record: Document) -> str:
    """Return the author of a conversation's newest message, or an empty string for the visitor or an unknown author.

    The author is a colleague's name, or "You" or "AI" in the person's language. Metadata contains no author if the
    conversation has no message or was last changed by an earlier release.
    """
    t, sender = guard.texts(session), record.get("lastMessageSender")
    if not record.get("lastMessage") or record.get("lastMessageFrom") in (None, HUMAN):
        return ""
    if not sender:
        return t.named("short", "ai-chatting")
    return t("you") if sender == display_name(session.client, "name")[:_MAX_NAME] else truncate(sender, _MAX_NAME)
