"""Conversation storage.

One item contains a conversation's encrypted metadata and turns. Long transcripts are split into chunk items
(`transcript`), which the same transaction writes. An index lists an agent's conversations by creation time (`listing`).
A sparse index lists a workspace's waiting conversations by activity (`filtered_lists`). The indexes contain only short
metadata.

The item also contains the last write's new messages and its transfer, so fan-out needs only the stream record. A
transfer is a change of the state or the assignee. If the messages do not fit into the item, the same transaction stores
them in separate items.
"""

from typing import Any

from chalicelib import clock, errors, ids, storage
from chalicelib.conversations import new_messages, transcript
from chalicelib.conversations.rows import CONVERSATION_ITEM
from chalicelib.conversations.rows import ChunkRow as ChunkRow
from chalicelib.conversations.rows import ConversationRow as ConversationRow
from chalicelib.conversations.rows import ReceivedRow as ReceivedRow
from chalicelib.conversations.rows import read_metadata as read_metadata
from chalicelib.conversations.rows import unless_expired as unless_expired
from chalicelib.conversations.state import NO_TURNS, State
from chalicelib.storage import Document, encryption, json_equal

# The members that a transfer changes, the maximum characters of each that it contains, and a row's maximum transfers.
_TRANSFERRED, _MAX_LABEL, _MAX_TRANSFERS = ("state", "chatAssignedTo"), 1_000, 20
# Maximum bytes of encrypted metadata in the index. The limit is small because requests for deep pages read and skip
# whole entries.
_MAX_SUMMARY = 1_024
# Maximum bytes of metadata, encrypted and as JSON. A page of 20 conversations fits into a response even if every
# character is escaped.
_MAX_METADATA, _MAX_METADATA_JSON = 32_000, 64_000
# The states in which the user waits for a person, a person is chatting, and the conversation has ended. The inbox lists
# the conversations in `WAITING_STATES`.
HANDOFF, WITH_PERSON, _ENDED = "requested_chat", "human-chatting", "ended_chat"
WAITING_STATES = (HANDOFF, WITH_PERSON)
# Maximum bytes of new messages: encrypted in the conversation's own item, and as JSON in each separate item.
_MAX_RECEIVED = 40_000
_MAX_RECEIVED_JSON = 350_000
# Maximum new messages per write. They fill up to 60 items, because a transaction has at most 100 items.
_MAX_NEW_MESSAGES = 60 * new_messages.MAX_MESSAGES
_RECEIVED = "received"  # the separate items' sort key prefix
# The metadata member that contains the conversation's retention days (`retention`).
_DAYS = "retentionDays"
_DAY_SECONDS = 24 * 60 * 60


def key(workspace_id: str, agent_id: str, conversation_id: str) -> storage.Key:
    """Return a conversation's key, for `storage.find_many`."""
    return storage.Key(ConversationRow, storage.join_key(workspace_id, agent_id, conversation_id), CONVERSATION_ITEM)


def has_expired(metadata: Document) -> bool:
    """Return whether a conversation has expired. Use this for index entries, which do not contain `expires_at`."""
    expiry = _expiry(metadata)
    return expiry is not None and expiry <= clock.seconds()


def is_kept_for(row: ConversationRow, days: int | None) -> bool:
    """Return whether a conversation expires `days` after its last change, or never if `days` is None.

    A release without retention removes `expires_at` when it saves a row, so both the metadata and the row are checked.
    """
    metadata = read_metadata(row)
    expiry = row.expires_at and int(row.expires_at.timestamp())
    return metadata.get(_DAYS) == days and expiry == _expiry(metadata)


def keep_for(row: ConversationRow, days: int | None) -> None:
    """Stage new retention days. Remove the last write's new messages, so that their events are not sent again."""
    before = read_metadata(row)
    after = {name: value for name, value in before.items() if name != _DAYS}
    save_metadata(row, before, after | ({_DAYS: days} if days else {}))


def read_received(image: dict[str, dict[str, Any]]) -> tuple[list[str], Document]:
    """Return a stored item's workspace, agent and conversation ids, and its new messages and transfer.

    The second value is `{messages: [{mid, content, type?, from?, channel?}], first?, agentName?, origin?, transfer?}`.
    `first` is the position of the first message among the write's new messages (default 0). `transfer` is `{before,
    after, changed, author}`, where `before` and `after` are `{state, chatAssignedTo}` with up to 1,000 characters each,
    and `changed` contains the names of the changed members.
    """
    row = (ConversationRow if image["item"]["S"] == CONVERSATION_ITEM else ReceivedRow).from_raw_data(image)
    return storage.split_key(row.conversation), storage.unseal(row, "received")


def read_transfers(row: ConversationRow) -> list[list[Any]]:
    """Return the last 20 transfers, oldest first: Unix milliseconds, state, assignee, author's kind and name."""
    return storage.unseal(row, "transfers")["transfers"] if row.transfers else []


def save_metadata(row: ConversationRow, before: Document, after: Document) -> None:
    """Stage changed metadata without reading the turns. Raise TooLarge if the metadata is too large."""
    _set_metadata(row, after)
    storage.put(row)
    _stage_received(row, before, State(after, NO_TURNS))


def save(row: ConversationRow, before: State, after: State, agent_name: str | None) -> None:
    """Stage a changed state. Raise TooLarge if the metadata is too large."""
    has_new_turns = (after.turns, after.totals) != (before.turns, before.totals)
    # Encrypting unchanged metadata again would rewrite the index entry.
    if has_new_turns or not json_equal(before.metadata, after.metadata):
        _set_metadata(row, after.metadata)
    storage.put(row)
    if has_new_turns:
        transcript.stage(row, before.turns, after)
    _stage_received(row, before.metadata, after, agent_name)


def delete(row: ConversationRow) -> None:
    """Stage the deletion of a conversation and its turns. Its other items are deleted later (`leftovers`)."""
    storage.delete(row)
    for chunk in transcript.chunk_rows(row):
        storage.delete(chunk)


def list_by_creation(workspace_id: str, agent_id: str, after: str | None, limit: int) -> list[ConversationRow]:
    """Return up to `limit` index entries that were created after `after`, oldest first, for `read_all`."""
    condition = ConversationRow.created > after if after else None
    agent = storage.join_key(workspace_id, agent_id)
    return storage.query(ConversationRow, agent, condition, index="by_creation", limit=limit)


def find(conversation: str) -> ConversationRow | None:
    """Return the conversation with this partition key, or None. This costs one request."""
    return storage.find(ConversationRow, conversation, CONVERSATION_ITEM)


def read_all(entries: list[ConversationRow]) -> list[ConversationRow]:
    """Return the conversations for these index entries, if they still exist. This costs one request per 100 entries."""
    rows = storage.find_many([storage.Key(ConversationRow, entry.conversation, CONVERSATION_ITEM) for entry in entries])
    return [row for row in rows if row]


def create(
    workspace_id: str,
    agent_id: str,
    conversation_id: str,
    state: State,
    agent_name: str | None = None,
    *,
    days: int | None = None,
    expired: ConversationRow | None = None,
) -> ConversationRow:
    """Stage a new conversation for an existing agent. First delete `expired`, an expired conversation with the same id.

    The commit raises ConditionFailed if the conversation already exists.
    """
    if expired is not None:
        with storage.unit_of_work():  # tallies and `leftovers` need both the deletion and the creation in the stream
            delete(expired)
    row = ConversationRow(storage.join_key(workspace_id, agent_id, conversation_id))
    row.agent, row.created = storage.join_key(workspace_id, agent_id), ids.new_id()
    _set_metadata(row, state.metadata | ({_DAYS: days} if days else {}))
    storage.put(row)
    transcript.stage(row, NO_TURNS, state)
    _stage_received(row, {}, state, agent_name)
    return row


def restore(row: ConversationRow, state: State) -> ConversationRow:
    """Encrypt an imported conversation's state into its row, and write its chunks. The caller saves the row.

    The row contains no new messages, so the import causes no events.
    """
    with storage.unit_of_work():
        _set_metadata(row, state.metadata)
        transcript.stage(row, NO_TURNS, state)
    return row


def _set_metadata(row: ConversationRow, metadata: Document) -> None:
    """Encrypt the metadata into the row, and set the attributes that are derived from it."""
    waits = metadata.get("state") in WAITING_STATES
    row.waiting = row.workspace_id if waits else None
    row.activity = inbox_key(metadata["lastModified"], row.created) if waits else None
    payload = storage.encode_json(metadata)
    if len(payload) > _MAX_METADATA_JSON:
        raise _too_large()
    expiry = _expiry(metadata)
    row.expires_at = None if expiry is None else clock.to_datetime(expiry)
    summary = encryption.seal(row.workspace_id, row.associated_data("summary"), payload)
    if len(summary) <= _MAX_SUMMARY:
        row.summary, row.metadata = summary, None
        return
    row.summary, row.metadata = None, encryption.seal(row.workspace_id, row.associated_data("metadata"), payload)
    if len(row.metadata) > _MAX_METADATA:
        raise _too_large()


def inbox_key(second: float, created: str) -> str:
    """Return the inbox sort key: when the wait began or the last change, in Unix seconds, and a ULID for uniqueness."""
    return f"{int(second):012}.{created}"


def _expiry(metadata: Document) -> int | None:
    """Return a conversation's expiry in Unix seconds: its last change plus its retention days."""
    days = metadata.get(_DAYS)
    return int(metadata.get("lastModified") or clock.seconds()) + days * _DAY_SECONDS if days else None


def _too_large() -> errors.TooLarge:
    return errors.TooLarge("metadata must be at most 64,000 bytes of JSON, and 32,000 bytes compressed.")


def _stage_received(row: ConversationRow, before: Document, state: State, agent_name: str | None = None) -> None:
    """Put the new messages and the transfer into the row. Stage separate items if the messages are too long for it."""
    _set_times(row, before, state)
    transfer = _transfer(row, before, state.metadata)
    row.received = _seal_received(row, {"messages": [], **transfer}) if transfer else None
    if not state.new_messages:
        return
    if len(state.new_messages) > _MAX_NEW_MESSAGES:
        raise errors.TooLarge(f"A write may add at most {_MAX_NEW_MESSAGES:,} user messages.")
    metadata = {"agentName": agent_name, "origin": state.metadata.get("origin")}
    sealed = _seal_received(row, {**metadata, "messages": state.new_messages, **transfer})
    if len(sealed) <= _MAX_RECEIVED and len(state.new_messages) <= new_messages.MAX_MESSAGES:
        row.received = sealed
        return
    first, write_id = 0, ids.new_id()
    for part in new_messages.split(state.new_messages, _MAX_RECEIVED_JSON):
        storage.put(_received_row(row, write_id, {**metadata, "messages": part, "first": first}))
        first += len(part)


def _set_times(row: ConversationRow, before: Document, state: State) -> None:
    """Store the times of the request for a person, to the first answer, and to the end.

    An answer is another sender's message while a person is chatting. Only the end of a stored conversation counts.
    """
    old, new, now = before.get("state"), state.metadata.get("state"), clock.milliseconds()
    if new == HANDOFF != old:
        row.requested_at, row.answered_after = now, None
    elif row.requested_at and state.totals.replies and WITH_PERSON in (old, new):
        row.requested_at, row.answered_after = None, max(now - row.requested_at, 0)
    if row.requested_at and new == HANDOFF:  # a waiting user who writes again keeps the place in the inbox
        row.activity = inbox_key(row.requested_at // 1000, row.created)
    if before and new == _ENDED != old and row.ended_after is None:
        row.ended_after = max(now - ids.timestamp_of(row.created), 0)


def _transfer(row: ConversationRow, before: Document, after: Document) -> Document:
    """Return `{transfer: {before, after, changed, author}}`, or an empty document. Keep the transfer in the row."""
    changed = [name for name in _TRANSFERRED if before.get(name) != after.get(name)]
    if not changed:
        return {}
    old, new = (
        {name: (metadata.get(name) or "")[:_MAX_LABEL] or None for name in _TRANSFERRED} for metadata in (before, after)
    )
    author, (state, assignee) = storage.current_author(), _TRANSFERRED
    kept = [clock.milliseconds(), new[state], new[assignee], *storage.split_author(author or "##")[::2]]
    row.transfers = storage.seal(row, "transfers", {"transfers": [*read_transfers(row), kept][-_MAX_TRANSFERS:]})
    return {"transfer": {"before": old, "after": new, "changed": changed, "author": author}}


def _received_row(row: ConversationRow, write_id: str, document: Document) -> ReceivedRow:
    item, end = storage.join_key(_RECEIVED, write_id, f"{document['first']:06}"), clock.seconds() + _DAY_SECONDS
    received = ReceivedRow(row.conversation, item, expires_at=clock.to_datetime(end))
    received.received = _seal_received(received, document)
    return received


def _seal_received(row: storage.Row, document: Document) -> bytes:
    return encryption.seal(row.workspace_id, row.associated_data("received"), storage.encode_json(document))
