"""The work of the clients who answer conversations: the first answers to requests for a person, and the ends.

A stream record names the client who changed a conversation's state or assignee in the console. An end counts for this
client, and a first answer for this client or else for the assignee, who has taken over or is assigned by the API.
Messages do not count, because the record of a reply without such a change does not name its author.
"""

from chalicelib import storage
from chalicelib.conversations import store
from chalicelib.conversations.counted_changes import CountedChange
from chalicelib.conversations.rows import ConversationRow
from chalicelib.credentials import tokens
from chalicelib.extensions.reports import hours
from chalicelib.ids import IDENTIFIER
from chalicelib.storage import Document

_ANSWERS = ("firstAnswers", "firstAnswerMilliseconds")
_OF_AUTHOR = (*_ANSWERS, "ends", "endMilliseconds")


def with_work(change: CountedChange, row: ConversationRow) -> CountedChange:
    """Return a conversation's counted change, with the counts of the client's work if there are any.

    `row` is the conversation after the change.
    """
    transfer = storage.unseal(row, "received").get("transfer") if row.received else None
    author = _author(transfer)
    client_id = author or _assignee(row)
    work = {name: change.counts[name] for name in (_OF_AUTHOR if author else _ANSWERS)}
    has_work = client_id is not None and any(work.values())
    return change._replace(values={**change.values, hours.PERSON: {client_id: work}}) if has_work else change


def _author(transfer: Document | None) -> str | None:
    """Return the client who changed the state or the assignee. The name of another credential is no identifier."""
    kind, _, name = storage.split_author((transfer and transfer["author"]) or "##")
    return name if kind == tokens.SESSION and IDENTIFIER.fullmatch(name) else None


def _assignee(row: ConversationRow) -> str | None:
    client_id = store.read_metadata(row).get("chatAssignedTo")
    return client_id if isinstance(client_id, str) and IDENTIFIER.fullmatch(client_id) else None
