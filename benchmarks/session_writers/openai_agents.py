"""Sessions of the OpenAI Agents SDK. An added message is an item of the user.

`OpenAIConversationsSession` stores items in OpenAI's own format, here in our OpenAI extension.
"""

import asyncio
import os
from pathlib import Path
from typing import Any

import cams
from agents import OpenAIConversationsSession, SQLiteSession
from cams.sessions.openai_agents import CamsSession
from openai import AsyncOpenAI


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
        contents = [item["content"] for item in self._runner.run(self._session.get_items())]
        return [content if isinstance(content, str) else content[0]["text"] for content in contents]


class Cams(SQLite):
    """The session of the Python client."""

    def _open(self, directory: str, conversation: str) -> Any:
        return CamsSession(conversation, cams.AsyncClient(), "support")


class ConversationsWithKeys(SQLite):
    """The SDK's session for OpenAI's own conversations, with the client that sends idempotency keys."""

    def _open(self, directory: str, conversation: str) -> Any:
        cams.Client().conversations("support", conversation).state(metadata={"labels": {}})
        return OpenAIConversationsSession(conversation_id=conversation, openai_client=self._client())

    def _client(self) -> AsyncOpenAI:
        return cams.async_openai("support")


class Conversations(ConversationsWithKeys):
    """The same session with the SDK's own client."""

    def _client(self) -> AsyncOpenAI:
        return AsyncOpenAI(
            api_key=os.environ["CAMS_API_KEY"], base_url=f"{os.environ['CAMS_URL']}/agents/support/openai/v1"
        )
