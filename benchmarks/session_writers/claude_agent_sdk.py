"""Sessions of the Claude Agent SDK. An added message is an entry of a transcript."""

import asyncio
import uuid
from typing import Any, cast

import cams
from cams.sessions.claude_agent_sdk import CamsSessionStore
from claude_agent_sdk.types import SessionKey, SessionStoreEntry


class Cams:
    """The store of the Python client, which also updates the summary of the session for each entry."""

    def __init__(self, directory: str, conversation: str) -> None:
        self._runner = asyncio.Runner()
        self._store = CamsSessionStore(cams.AsyncClient(), "support")
        self._key: SessionKey = {"project_key": directory, "session_id": conversation}

    def add(self, text: str) -> None:
        """Add an entry with an id, as the SDK does."""
        content = {"role": "user", "content": [{"type": "text", "text": text}]}
        entry = {"type": "user", "uuid": str(uuid.uuid4()), "timestamp": "2026-01-01T00:00:00.000Z", "message": content}
        self._runner.run(self._store.append(self._key, [cast(SessionStoreEntry, entry)]))

    def texts(self) -> list[str]:
        """Return the texts of all entries."""
        entries: list[Any] = self._runner.run(self._store.load(self._key)) or []
        return [entry["message"]["content"][0]["text"] for entry in entries]
