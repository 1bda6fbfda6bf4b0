"""A store for sessions of the Claude Agent SDK (`pip install cams-client[claude-agent-sdk]`)."""

import time
from hashlib import sha256
from typing import Any, cast

from claude_agent_sdk import fold_session_summary
from claude_agent_sdk.types import (
    SessionKey,
    SessionListSubkeysKey,
    SessionStore,
    SessionStoreEntry,
    SessionStoreListEntry,
    SessionSummaryEntry,
)

from .. import AsyncClient, models
from .._async.transcript import AsyncTranscript
from .._async.transport import attempts
from ..errors import PreconditionFailed
from .messages import author_of, is_of_adapter, message

_KIND = "claude-agent-sdk"


class CamsSessionStore(SessionStore):
    """Each transcript is a conversation, and each entry a message.

    Each project has an index: a conversation with a message for each transcript, about 500 bytes long. It contains the
    summaries of sessions, and has space for about 4,000 transcripts.
    """

    def __init__(self, client: AsyncClient, agent_id: str) -> None:
        """Create the store for the sessions in an agent's conversations. The agent's key suffices."""
        self._client, self._agent_id = client, agent_id

    async def append(self, key: SessionKey, entries: list[SessionStoreEntry]) -> None:
        """Add entries. An entry whose `uuid` is stored is not added again."""
        if not entries:
            return
        messages = [_message({**entry}) for entry in entries]
        conversation_id = _id(key["project_key"], key["session_id"], key.get("subpath", ""))
        await self._transcript(conversation_id).append(list({each["mid"]: each for each in messages}.values()))
        if "subpath" in key:
            index = self._transcript(_id(key["project_key"]))
            await index.put(message("index", _KIND, {**key}, conversation_id))
        else:
            await self._summarise(key, conversation_id, entries)

    async def load(self, key: SessionKey) -> list[SessionStoreEntry] | None:
        """Return a transcript's entries, or None if it has none. Other messages in the conversation are no entries."""
        conversation_id = _id(key["project_key"], key["session_id"], key.get("subpath", ""))
        messages, _ = await self._read(conversation_id)
        return [cast(SessionStoreEntry, each.item) for each in messages] or None

    async def list_sessions(self, project_key: str) -> list[SessionStoreListEntry]:
        """Return the project's sessions."""
        summaries = await self.list_session_summaries(project_key)
        return [{"session_id": each["session_id"], "mtime": each["mtime"]} for each in summaries]

    async def list_session_summaries(self, project_key: str) -> list[SessionSummaryEntry]:
        """Return the summaries of the project's sessions."""
        messages, _ = await self._read(_id(project_key))
        return [each.item["summary"] for each in messages if "summary" in each.item]

    async def delete(self, key: SessionKey) -> None:
        """Delete a session with the transcripts of its subagents, or only the transcript of one subagent."""
        index = self._transcript(_id(key["project_key"]))
        for each in await self._of_session(key):
            if key.get("subpath") in (None, each.item.get("subpath")):
                await self._transcript(each.mid).delete()
                await index.remove(each.mid)

    async def list_subkeys(self, key: SessionListSubkeysKey) -> list[str]:
        """Return the subpaths of the session's subagents."""
        listed = await self._of_session(key)
        return [each.item["subpath"] for each in listed if "subpath" in each.item]

    async def _summarise(self, key: SessionKey, conversation_id: str, entries: list[SessionStoreEntry]) -> None:
        """Update the session's summary. The ETag prevents lost updates by concurrent writers."""
        index_id = _id(key["project_key"])
        async for _ in attempts():
            listed, etag = await self._read(index_id)
            before = next((each.item["summary"] for each in listed if each.mid == conversation_id), None)
            summary = {**fold_session_summary(before, key, entries), "mtime": time.time_ns() // 1_000_000}
            item = message("index", _KIND, {**key, "summary": summary}, conversation_id)
            try:
                await self._transcript(index_id).put(item, if_match=etag, if_none_match=None if etag else "*")
            except PreconditionFailed:
                continue
            return

    async def _of_session(self, key: SessionKey | SessionListSubkeysKey) -> list[models.Message]:
        listed, _ = await self._read(_id(key["project_key"]))
        return [each for each in listed if each.item["session_id"] == key["session_id"]]

    async def _read(self, conversation_id: str) -> tuple[list[models.Message], str | None]:
        """Return the messages of this store, and the conversation's ETag."""
        messages, etag = await self._transcript(conversation_id).read()
        return [each for each in messages if is_of_adapter(each, _KIND)], etag

    def _transcript(self, conversation_id: str) -> AsyncTranscript:
        return AsyncTranscript(self._client, self._agent_id, conversation_id)


def _id(*key: str) -> str:
    """Return the id of a conversation. Keys contain characters that ids cannot contain."""
    return f"claude-{sha256(repr(key).encode()).hexdigest()[:32]}"


def _message(entry: dict[str, Any]) -> dict[str, Any]:
    content = entry["message"].get("content") if isinstance(entry.get("message"), dict) else None
    author = "system" if entry.get("isMeta") else author_of(entry["type"], content)
    return message(author, _KIND, entry, entry.get("uuid"))
