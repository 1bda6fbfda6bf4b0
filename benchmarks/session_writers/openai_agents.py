"""Sessions of the OpenAI Agents SDK. An added message is an item of the user."""

import asyncio
from pathlib import Path
from typing import Any

import cams
from agents import SQLiteSession
from cams.sessions.openai_agents import CamsSession


class SQLite:
    """The SDK's own session in a file, with its default settings. All writers must be on one machine."""

    def __init__(self, directory: str, conversation: str) -> None:
        self._runner = asyncio.Runner()
        self._session: Any = self._open(directory, conversation)

    def _open(self, directory: str, conversation: str) -> Any:
        return SQLiteSession(conversation, Path(directory) / "sessions.sqlite")

    def add(self, text: str) -> None:
        """Add an item."""
        self._runner.run(self._session.add_items([{"role": "user", "content": text}]))

    def texts(self) -> list[str]:
        """Return the content of all items."""
        return [item["content"] for item in self._runner.run(self._session.get_items())]


class Cams(SQLite):
    """The session of the Python client."""

    def _open(self, directory: str, conversation: str) -> Any:
        return CamsSession(conversation, cams.AsyncClient(), "support")
