"""A store for conversations of Pydantic AI (`pip install cams-client[pydantic-ai-slim]`)."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import Any

from pydantic import TypeAdapter
from pydantic_ai import conversation_store as base
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelResponse, TextPart, UserPromptPart

from .. import AsyncClient
from .._async.transcript import AsyncTranscript, parts
from .._async.transport import attempts
from ..errors import PreconditionFailed
from .messages import is_of_adapter, message

Entry = base.ConversationEntry
Record = base.ConversationRecord
Entries = Mapping[str, Entry]
_KIND, _RECORD = "pydantic-ai", "pydantic-ai-record"
_RECORDS = TypeAdapter(Record)
# The entries of the conversation that this task has read last. The interface reads a record before its entries.
_entries: ContextVar[Entries] = ContextVar("_entries", default={})  # noqa: B039 - never changed


class CamsConversationStore(base.ConversationStore):
    """Each entry is a message of the conversation with the same id, and so is the conversation's record.

    Deleting a conversation deletes its entries, because forks have copies. `list_conversations` reads each conversation
    and requires the workspace key or an access token. The other methods require only the agent's key.
    """

    def __init__(self, client: AsyncClient, agent_id: str) -> None:
        """Create the store for an agent's conversations."""
        self._client, self._agent_id = client, agent_id

    async def read_record(self, conversation_id: str) -> Record | None:
        """Return a conversation's record, or None if there is none."""
        return (await self._stored(conversation_id))[0]

    async def read_records(self, *, scope: str | None = None, limit: int | None = None) -> Sequence[Record]:
        """Return the records, or those with this scope, newest first."""
        label = "framework:pydantic-ai" if scope is None else f"scope:{scope}"
        listed = self._client.conversations.list(self._agent_id, label=label)
        records = [await self.read_record(each.id) async for each in listed]
        matching = (each for each in records if each and scope in (None, each.scope))
        return sorted(matching, key=lambda each: each.updated_at, reverse=True)[:limit]

    async def write_record(
        self, record: Record, *, new_entries: Sequence[Entry] = (), expected_revision: str | None
    ) -> None:
        """Store a record with its new entries in one request, if its size permits. Raise ConversationConflict."""
        known = {**_entries.get(), **{each.id: each for each in new_entries}}
        transcript = self._transcript(record.conversation_id)
        async for _ in attempts():
            stored, etag = await self._stored(record.conversation_id)
            added = _missing(record.head_id, known, _entries.get())
            if (stored.revision if stored else None) != expected_revision or added is None:
                raise base.ConversationConflict(record.conversation_id)
            head = message("system", _RECORD, _RECORDS.dump_python(record, mode="json"), "record")
            messages = [head, *map(_message, added)]
            if len(list(parts(messages))) > 1:
                for part in parts(messages[1:]):
                    await transcript.put(*part)
                continue
            with suppress(PreconditionFailed):
                await transcript.put(*messages, if_match=etag, if_none_match=None if etag else "*")
                break
        if stored is None or stored.scope != record.scope:
            labels = {"framework": "pydantic-ai"} | ({} if record.scope is None else {"scope": record.scope})
            await self._client.conversations(self._agent_id, record.conversation_id).state(metadata={"labels": labels})

    async def delete_record(self, conversation_id: str, *, expected_revision: str) -> None:
        """Delete the conversation. Raise ConversationConflict."""
        async for _ in attempts():
            stored, etag = await self._stored(conversation_id)
            if stored is None or stored.revision != expected_revision:
                raise base.ConversationConflict(conversation_id)
            with suppress(PreconditionFailed):
                await self._transcript(conversation_id).delete(if_match=etag)
                return

    async def read_entry(self, entry_id: str) -> Entry:
        """Return an entry of the conversation whose record was read last. Raise KeyError."""
        return _entries.get()[entry_id]

    async def _stored(self, conversation_id: str) -> tuple[Record | None, str | None]:
        messages, etag = await self._transcript(conversation_id).read()
        _entries.set({each.mid: _entry(each.mid, each.item) for each in messages if is_of_adapter(each, _KIND)})
        records = (_RECORDS.validate_python(each.item) for each in messages if is_of_adapter(each, _RECORD))
        return next(records, None), etag

    def _transcript(self, conversation_id: str) -> AsyncTranscript:
        return AsyncTranscript(self._client, self._agent_id, conversation_id)


def _missing(head_id: str | None, known: Entries, stored: Entries) -> list[Entry] | None:
    """Return the entries up to `head_id` that are not stored, oldest first, or None if one of them is unknown."""
    missing: list[Entry] = []
    while head_id is not None and head_id not in stored:
        if head_id not in known:
            return None
        missing.append(known[head_id])
        head_id = known[head_id].parent_id
    return missing[::-1]


def _message(entry: Entry) -> dict[str, Any]:
    (content,) = ModelMessagesTypeAdapter.dump_python([entry.message], mode="json")
    texts = [part.content for part in entry.message.parts if isinstance(part, UserPromptPart | TextPart)]
    author = "assistant" if isinstance(entry.message, ModelResponse) else "user" if texts else "tool"
    text = "\n".join(each for each in texts if isinstance(each, str))
    return message(author, _KIND, {"text": text, "parentId": entry.parent_id, "message": content}, entry.id)


def _entry(mid: str, item: dict[str, Any]) -> Entry:
    (content,) = ModelMessagesTypeAdapter.validate_python([item["message"]])
    return Entry(id=mid, parent_id=item["parentId"], message=content)
