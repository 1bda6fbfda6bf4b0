"""The authors of the newest messages, which lists of conversations show before the beginning of each message."""

from collections.abc import Mapping, Sequence
from itertools import islice
from types import MappingProxyType

from chalicelib import storage
from chalicelib.conversations import store, transcript
from chalicelib.extensions.console import guard
from chalicelib.extensions.console.sessions import Session
from chalicelib.extensions.console.template_filters import display_name, truncate
from chalicelib.storage import Document

Messages = Mapping[tuple[str, str], Document]
"""Messages by agent id and conversation id."""
Authors = dict[tuple[str, str], str]
"""The authors' names by agent id and conversation id."""
_NO_MATCHES: Messages = MappingProxyType({})
_MAX_NAME = 40


def read_authors(session: Session, conversations: Sequence[Document], matches: Messages = _NO_MATCHES) -> Authors:
    """Return the author of each conversation's newest message, or of its message in `matches`.

    The author is the first word of the visitor's name, a colleague's name, or "You" or "AI" in the person's language.
    Conversations without a text have no author. The metadata contains no author, so this function reads the items with
    the newest messages, in one eventually consistent request.
    """
    listed = {(record["agentId"], record["ID"]): record for record in conversations if record.get("lastMessage")}
    stored = [ids for ids in listed if ids not in matches]
    keys = [store.key(session.workspace_id, *ids)._replace(consistent=False) for ids in stored]
    rows = zip(stored, storage.find_many(keys), strict=True)
    newest = {ids: message for ids, row in rows if row for message in islice(transcript.last_messages(row), 1)}
    messages = {**newest, **matches}
    return {ids: _author(session, record, messages[ids]) for ids, record in listed.items() if ids in messages}


def _author(session: Session, record: Document, message: Document) -> str:
    item, t = message.get("item"), guard.texts(session)
    if message.get("from") == "human":
        return truncate((display_name(record, "userName").split() or [t("visitor")])[0], _MAX_NAME)
    sender = item.get("sender") if isinstance(item, dict) else None
    if not sender:
        return t.named("short", "ai-chatting")
    return t("you") if sender == display_name(session.client, "name") else truncate(str(sender), _MAX_NAME)
