"""The work of the clients who answer conversations: their messages, their first answers, and the ends that they set.

The work belongs to the client who changes the conversation's state or assignee in the same write, such as a reply that
takes over. Without such a change, or if another credential makes it, the work belongs to the conversation's assignee.
"""

from collections.abc import Mapping

from chalicelib import storage
from chalicelib.conversations import store
from chalicelib.conversations.counted_changes import CountedChange
from chalicelib.conversations.rows import ConversationRow
from chalicelib.credentials import tokens
from chalicelib.extensions.reports import hours
from chalicelib.ids import IDENTIFIER
from chalicelib.storage import Document

_COUNTS = ("firstAnswers", "firstAnswerMilliseconds", "ends", "endMilliseconds")


def with_work(change: CountedChange, row: ConversationRow) -> CountedChange:
    """Return a conversation's counted change, with the counts of the client's work if there are any.

    `row` is the conversation after the change.
    """
    metadata = store.read_metadata(row)
    transfer = storage.unseal(row, "received").get("transfer") if row.received else None
    counts, client_id = _work(change, metadata, transfer), _client(metadata, transfer)
    has_work = client_id is not None and any(counts.values())
    return change._replace(values={**change.values, hours.PERSON: {client_id: counts}}) if has_work else change


def _client(metadata: Document, transfer: Document | None) -> str | None:
    kind, _, name = storage.split_author((transfer and transfer["author"]) or "##")
    # The name of another credential's session is no identifier.
    client_id = name if kind == tokens.SESSION and IDENTIFIER.fullmatch(name) else metadata.get("chatAssignedTo")
    return client_id if isinstance(client_id, str) and IDENTIFIER.fullmatch(client_id) else None


def _work(change: CountedChange, metadata: Document, transfer: Document | None) -> Mapping[str, int]:
    """Return the counts of a person's work. New messages belong to it while a person is chatting."""
    states = (metadata.get("state"), transfer and transfer["before"]["state"])
    is_chatting = store.WITH_PERSON in states and metadata.get("lastMessageFrom") != "human"
    messages = change.counts["messages"] - change.counts["interactions"] if is_chatting else 0
    return {"messages": messages, **{name: change.counts[name] for name in _COUNTS}}
