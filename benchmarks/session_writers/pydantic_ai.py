"""Conversations of Pydantic AI. An added message is a request of the user."""

import asyncio
import random
from itertools import count

import cams
from cams.sessions.pydantic_ai import CamsConversationStore
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import ConversationConflict
from pydantic_ai.messages import ModelRequest, UserPromptPart

# Seconds of the exponential backoff with full jitter.
_PAUSE, _LONGEST_PAUSE = 0.1, 5.0


class Cams:
    """The store of the Python client. If a conversation has changed, the framework leaves the repeat to its user."""

    def __init__(self, directory: str, conversation: str) -> None:
        self._runner = asyncio.Runner()
        self._store = CamsConversationStore(cams.AsyncClient(), "support")
        self._conversation = conversation

    def add(self, text: str) -> None:
        """Load the conversation and save it with a message, until no other process has changed it in between."""
        self._runner.run(self._add(text))

    async def _add(self, text: str) -> None:
        for attempt in count(1):
            conversation = await self._store.load(self._conversation) or Conversation(
                conversation_id=self._conversation
            )
            conversation.messages.append(ModelRequest(parts=[UserPromptPart(text)]))
            try:
                await self._store.save(conversation)
            except ConversationConflict:
                await asyncio.sleep(random.uniform(0, min(_LONGEST_PAUSE, _PAUSE * 2**attempt)))
                continue
            return

    def texts(self) -> list[str]:
        """Return the texts of all messages."""
        loaded = self._runner.run(self._store.load(self._conversation))
        return [str(part.content) for message in loaded.messages for part in message.parts] if loaded else []
