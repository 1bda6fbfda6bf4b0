"""The newest message in lists of conversations: its author, and whether it is unanswered."""

from chalicelib.conversations.new_messages import HUMAN
from chalicelib.extensions.console import guard
from chalicelib.extensions.console.sessions import Session
from chalicelib.extensions.console.template_filters import display_name, truncate
from chalicelib.storage import Document

_MAX_NAME = 40


def is_unanswered(record: Document) -> bool:
    """Return whether a conversation that waits for or is with a person ends with a visitor's message.

    The answer for a search's match is no, because the match may not be the newest message.
    """
    is_open = record.get("state") in ("requested_chat", "human-chatting")
    return is_open and record.get("lastMessageFrom") == HUMAN and "isMatch" not in record


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
