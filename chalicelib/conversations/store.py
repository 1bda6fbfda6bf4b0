"""Conversations in the database.

One item holds the sealed metadata and the sealed turns. Long turns are split into chunk items (`turns`), written in the
same transaction. An index orders an agent's conversations by number and projects only the metadata.

The item also holds the new messages of the last write, sealed, so that fan-out needs nothing but the stream record.
Messages that are too long or too many for it get items of their own, in the same transaction.
"""

import json
from collections.abc import Callable, Sequence
from typing import Any

from chalicelib import clock, errors, ids, storage
from chalicelib.conversations import received, turns
from chalicelib.conversations.listing import Numbers
from chalicelib.conversations.rows import HEAD
from chalicelib.conversations.rows import ChunkRow as ChunkRow
from chalicelib.conversations.rows import ConversationRow as ConversationRow
from chalicelib.conversations.rows import ReceivedRow as ReceivedRow
from chalicelib.conversations.state import NO_TURNS, State
from chalicelib.storage import Document, encryption, sequence

# Bytes, sealed and as JSON. One query of the index returns up to 1 MB, which must hold a page of 20.
_MAX_METADATA = 32_000
_MAX_METADATA_JSON = 64_000
# New messages: sealed bytes in the conversation's own item, and bytes of JSON in each separate item.
_MAX_RECEIVED = 40_000
_MAX_RECEIVED_JSON = 350_000
# In one write, because a transaction has at most 100 items.
_MAX_NEW_MESSAGES = 60 * received.MAX_MESSAGES
_RECEIVED_SECONDS = 24 * 60 * 60
_ATTEMPTS = 6


def key(workspace_id: str, agent_id: str, conversation_id: str) -> storage.Key:
    """Return the key of a conversation, for `storage.find_many`."""
    return storage.Key(ConversationRow, storage.key(workspace_id, agent_id, conversation_id), HEAD)


def read_state(row: ConversationRow, expected: bytes = b"") -> State:
    """Return the state of a row. One more request for a long conversation, unless `expected` contains its chunks.

    Raises ConditionFailed if a concurrent write has replaced a chunk.
    """
    return State(read_metadata(row), *turns.read(row, expected))


def read_metadata(row: ConversationRow) -> Document:
    """Return the metadata of a row, from the table or from its index."""
    metadata: Document = json.loads(encryption.unseal(row.workspace_id, row.associated_data("metadata"), row.metadata))
    return metadata


def read_received(image: dict[str, dict[str, Any]]) -> tuple[list[str], Document]:
    """Read the new messages of a stored item. Returns the ids of workspace, agent and conversation, and a document
    `{messages: [{mid, content, type?, from?}], first?, agentName?, origin?}`.

    `first` is the position of the first message among all new messages of the write (default 0).
    """
    row = (ConversationRow if image["item"]["S"] == HEAD else ReceivedRow).from_raw_data(image)
    document: Document = json.loads(encryption.unseal(row.workspace_id, row.associated_data("received"), row.received))
    return storage.split_key(row.conversation), document


def save(row: ConversationRow, before: State, after: State, agent_name: str | None) -> None:
    """Stage a changed state. Raises TooLarge for metadata that is too large."""
    _seal_metadata(row, after.metadata)
    storage.put(row)
    if (after.turns, after.seen) != (before.turns, before.seen):
        turns.stage(row, before.turns, after)
    _stage_received(row, after, agent_name)


def find(workspace_id: str, agent_id: str, conversation_id: str) -> ConversationRow | None:
    """Return the conversation, or None. One request."""
    return storage.find(ConversationRow, storage.key(workspace_id, agent_id, conversation_id), HEAD)


def delete(row: ConversationRow, last: sequence.SequenceRow) -> None:
    """Stage the deletion of a conversation with its turns; its number becomes a hole."""
    storage.delete(row)
    for chunk in turns.chunk_rows(row):
        storage.delete(chunk)
    sequence.record_hole(last, int(row.number))


def batch_to_delete(workspace_id: str, agent_id: str, limit: int) -> list[ConversationRow]:
    """Return up to `limit` conversations of an agent from the index, to delete. The index is eventually consistent."""
    return storage.query(ConversationRow, storage.key(workspace_id, agent_id), index="by_number", limit=limit)


def clear(workspace_id: str, agent_id: str, conversation_id: str) -> bool:
    """Delete a conversation of a deleted agent immediately, whatever its size; return whether it existed.

    Its own item is deleted last, because the other items are found through it, and only as it was read. Raises
    ConditionFailed if a request that read the agent before its deletion has changed it.
    """
    found = storage.query(ConversationRow, storage.key(workspace_id, agent_id, conversation_id))
    own = [row for row in found if row.item == HEAD]
    storage.delete_many([row for row in found if row.item != HEAD])
    for row in own:
        with storage.unit_of_work():
            storage.delete(row)
    return bool(own)


def create(
    workspace_id: str,
    agent_id: str,
    conversation_id: str,
    state: State,
    last: sequence.SequenceRow,
    agent_name: str | None = None,
) -> ConversationRow:
    """Stage a new conversation with the number after `last`. The commit raises NotFound if the agent was deleted."""
    row = ConversationRow(storage.key(workspace_id, agent_id, conversation_id))
    row.agent = storage.key(workspace_id, agent_id)
    _seal_metadata(row, state.metadata)
    storage.put(row)
    turns.stage(row, NO_TURNS, state)
    _stage_received(row, state, agent_name)
    row.number = sequence.advance(last, conversation_id)
    return row


def list_page(
    workspace_id: str, agent_id: str, select: Callable[[Numbers], list[int]]
) -> tuple[list[Document], int | None]:
    """Return the metadata of all conversations whose numbers `select` picks, newest first, and the last number if older
    ones follow.

    Two requests, and a third for new conversations that the index does not contain yet: the sequence row names the
    newest ones. If the index lacks older ones, the call retries. Raises NotFound for an unknown agent, and Unavailable
    if the index stays behind.
    """
    for attempt in range(_ATTEMPTS):
        last = sequence.read(workspace_id, agent_id)
        # Select again at each attempt: a conversation that was deleted in between never appears.
        known = Numbers(int(last.high), sequence.holes(last))
        numbers = select(known)
        rows = _indexed(storage.key(workspace_id, agent_id), numbers)
        ids = [sequence.recent_id(last, number) for number in numbers if number not in rows]
        keys = [key(workspace_id, agent_id, conversation_id) for conversation_id in ids if conversation_id]
        rows |= {int(row.number): row for row in storage.find_many(keys) if row}
        if all(number in rows for number in numbers):
            next_before = numbers[-1] if numbers and known.below(numbers[-1]) else None
            return [read_metadata(rows[number]) for number in numbers], next_before
        storage.pause(attempt)
    raise errors.Unavailable("The list of conversations is not up to date yet; try again.")


def _indexed(agent: str, numbers: Sequence[int]) -> dict[int, ConversationRow]:
    if not numbers:
        return {}
    between = ConversationRow.number.between(numbers[-1], numbers[0])
    rows = storage.query(ConversationRow, agent, between, index="by_number", newest_first=True)
    return {int(row.number): row for row in rows}


def _seal_metadata(row: ConversationRow, metadata: Document) -> None:
    payload = storage.encode_json(metadata)
    row.metadata = encryption.seal(row.workspace_id, row.associated_data("metadata"), payload)
    if len(row.metadata) > _MAX_METADATA or len(payload) > _MAX_METADATA_JSON:
        raise errors.TooLarge("metadata must be at most 64,000 bytes of JSON, and 32,000 bytes compressed.")


def _stage_received(row: ConversationRow, state: State, agent_name: str | None) -> None:
    """Put the new messages into the row, or stage items of their own if they are too long for it."""
    row.received = None
    if not state.received:
        return
    if len(state.received) > _MAX_NEW_MESSAGES:
        raise errors.TooLarge(f"A write may add at most {_MAX_NEW_MESSAGES:,} messages of the user.")
    metadata = {"agentName": agent_name, "origin": state.metadata.get("origin")}
    sealed = _seal_received(row, {**metadata, "messages": state.received})
    if len(sealed) <= _MAX_RECEIVED and len(state.received) <= received.MAX_MESSAGES:
        row.received = sealed
        return
    first, write_id = 0, ids.new_id()
    for part in received.split(state.received, _MAX_RECEIVED_JSON):
        storage.put(_received_row(row, write_id, {**metadata, "messages": part, "first": first}))
        first += len(part)


def _received_row(row: ConversationRow, write_id: str, document: Document) -> ReceivedRow:
    own = ReceivedRow(row.conversation, storage.key("received", write_id, f"{document['first']:06}"))
    own.received = _seal_received(own, document)
    own.expires_at = clock.to_datetime(clock.seconds() + _RECEIVED_SECONDS)
    return own


def _seal_received(row: storage.Row, document: Document) -> bytes:
    return encryption.seal(row.workspace_id, row.associated_data("received"), storage.encode_json(document))
