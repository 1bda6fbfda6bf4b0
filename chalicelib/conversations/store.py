"""Conversations in the database.

One item holds metadata and turns, each sealed; of long turns the beginning is in chunk items, see `turns`, that are
written in the same transaction. An index orders an agent's conversations by their number and carries the metadata,
nothing else.

What a write received stands in the item, sealed, so that a record of the table's stream alone tells what
happened; what is too long for it travels in items of its own, in the same transaction.
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

# A page of 20 must come back in one answer of the index, which ends at 1 MB.
_METADATA = 32_000
_METADATA_JSON = 64_000
# Received messages: sealed bytes in the conversation's own item, and JSON bytes together in another.
_RECEIVED = 40_000
_RECEIVED_TOGETHER = 350_000
_RECEIVED_SECONDS = 24 * 60 * 60
_ATTEMPTS = 6


def key(workspace_id: str, agent_id: str, conversation_id: str) -> storage.Key:
    """What to ask `storage.find_many` for."""
    return storage.Key(ConversationRow, storage.key(workspace_id, agent_id, conversation_id), HEAD)


def read_state(row: ConversationRow, expected: bytes = b"") -> State:
    """What the row holds. One more request for a long conversation, unless its chunks are in the `expected` turns.

    Raises ConditionFailed when a writer was in between.
    """
    return State(read_metadata(row), *turns.read(row, expected))


def read_metadata(row: ConversationRow) -> Document:
    """The metadata of a row, of the table or of its index."""
    metadata: Document = json.loads(encryption.unseal(row.workspace_id, row.associated_data("metadata"), row.metadata))
    return metadata


def read_received(image: dict[str, dict[str, Any]]) -> tuple[list[str], Document]:
    """From a stored item that carries received messages: its workspace, agent and conversation; and
    `{messages: [{mid, content, type?, from?}], first?, agentName?, origin?}`, `first` of all that the write brought."""
    row = (ConversationRow if image["item"]["S"] == HEAD else ReceivedRow).from_raw_data(image)
    document: Document = json.loads(encryption.unseal(row.workspace_id, row.associated_data("received"), row.received))
    return storage.split_key(row.conversation), document


def save(row: ConversationRow, before: State, after: State, agent_name: str | None) -> None:
    """Stage a changed state. Turns that did not change are not written."""
    _seal_metadata(row, after.metadata)
    storage.put(row)
    if (after.turns, after.seen) != (before.turns, before.seen):
        turns.stage(row, before.turns, after)
    _stage_received(row, after, agent_name)


def find(workspace_id: str, agent_id: str, conversation_id: str) -> ConversationRow | None:
    """The conversation, or None. One request."""
    return storage.find(ConversationRow, storage.key(workspace_id, agent_id, conversation_id), HEAD)


def delete(row: ConversationRow, last: sequence.SequenceRow) -> None:
    """Stage the deletion of a conversation with its turns; its number becomes a hole."""
    storage.delete(row)
    for chunk in turns.chunk_rows(row):
        storage.delete(chunk)
    sequence.record_hole(last, int(row.number))


def batch_to_delete(workspace_id: str, agent_id: str, limit: int) -> list[ConversationRow]:
    """At most `limit` conversations of an agent as the index shows them, to delete them with their chunks."""
    return storage.query(ConversationRow, storage.key(workspace_id, agent_id), index="by_number", limit=limit)


def clear(workspace_id: str, agent_id: str, conversation_id: str) -> bool:
    """Delete a conversation of a deleted agent now, whatever its size; whether it was there.

    Its own item goes last: without it nothing would find the others. It goes only as it was read: a request that read
    the agent before its deletion may still write. Raises ConditionFailed when one did.
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
    """Stage a new conversation under the number after `last`. Fails with NotFound after the agent's deletion."""
    row = ConversationRow(storage.key(workspace_id, agent_id, conversation_id))
    row.agent = storage.key(workspace_id, agent_id)
    _seal_metadata(row, state.metadata)
    storage.put(row)
    turns.stage(row, NO_TURNS, state)
    _stage_received(row, state, agent_name)
    row.number = sequence.advance(last, conversation_id)
    return row


def listed(
    workspace_id: str, agent_id: str, choose: Callable[[Numbers], list[int]]
) -> tuple[list[Document], int | None]:
    """The metadata of the conversations with the numbers that `choose` picks, newest first and all of them; and the
    last number when there are more behind it. Raises NotFound for an unknown agent.

    Two requests; one more for new conversations that the index does not show yet. Older ones are waited
    for: the index is behind by more than `sequence` remembers only in a disturbance of the cloud.
    """
    for attempt in range(_ATTEMPTS):
        last = sequence.find(workspace_id, agent_id)
        if last is None:
            raise errors.NotFound.of("agent")
        # Chosen anew each time: a conversation that is deleted meanwhile will never be there.
        known = Numbers(int(last.high), sequence.holes(last))
        numbers = choose(known)
        rows = _indexed(storage.key(workspace_id, agent_id), numbers)
        ids = [sequence.recent_id(last, number) for number in numbers if number not in rows]
        keys = [key(workspace_id, agent_id, conversation_id) for conversation_id in ids if conversation_id]
        rows |= {int(row.number): row for row in storage.find_many(keys) if row}
        if all(number in rows for number in numbers):
            more = numbers[-1] if numbers and known.below(numbers[-1]) else None
            return [read_metadata(rows[number]) for number in numbers], more
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
    if len(row.metadata) > _METADATA or len(payload) > _METADATA_JSON:
        raise errors.TooLarge("metadata is too large to store.")


def _stage_received(row: ConversationRow, state: State, agent_name: str | None) -> None:
    """Put the received messages into the row; stage items of their own for messages that are too long for it."""
    row.received = None
    if not state.received:
        return
    metadata = {"agentName": agent_name, "origin": state.metadata.get("origin")}
    sealed = _seal_received(row, {**metadata, "messages": state.received})
    if len(sealed) <= _RECEIVED:
        row.received = sealed
        return
    first, writing = 0, ids.new_id()
    for part in received.packed(state.received, _RECEIVED_TOGETHER):
        storage.put(_received_row(row, writing, {**metadata, "messages": part, "first": first}))
        first += len(part)


def _received_row(row: ConversationRow, writing: str, document: Document) -> ReceivedRow:
    own = ReceivedRow(row.conversation, storage.key("received", writing, f"{document['first']:06}"))
    own.received = _seal_received(own, document)
    own.expires_at = clock.to_datetime(clock.seconds() + _RECEIVED_SECONDS)
    return own


def _seal_received(row: storage.Row, document: Document) -> bytes:
    return encryption.seal(row.workspace_id, row.associated_data("received"), storage.encode_json(document))
