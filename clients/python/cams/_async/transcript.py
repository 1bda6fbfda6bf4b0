"""The core of the adapters for agent frameworks: a session is a conversation, and an item of it is a message."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from .. import models
from ..errors import NotFound, PreconditionFailed
from .client import AsyncClient
from .transport import attempts

# The service accepts 50 messages and 2,000,000 bytes per request. The JSON below escapes all other alphabets, so it is
# never shorter than the request's JSON.
_MOST_MESSAGES, _MOST_BYTES = 50, 1_900_000
_LARGEST_PAGE = 100


class AsyncTranscript:
    """The messages of one conversation, as dicts with the names of the API."""

    def __init__(self, client: AsyncClient, agent_id: str, conversation_id: str) -> None:
        """Create the transcript. The conversation need not exist. The client's key may be the agent's key."""
        self._conversation = client.conversations(agent_id, conversation_id)

    async def read(self) -> tuple[list[models.Message], str | None]:
        """Return all messages, oldest first, and the conversation's ETag, or None if there is no conversation."""
        try:
            page = await self._conversation.messages.list(order="asc").first_page()
        except NotFound:
            return [], None
        return page.data, page.etag

    async def newest(self, limit: int) -> list[models.Message]:
        """Return the newest `limit` messages, oldest first."""
        newest: list[models.Message] = []
        if limit < 1:
            return newest
        try:
            async for message in self._conversation.messages.list(limit=min(limit, _LARGEST_PAGE)):
                newest.append(message)
                if len(newest) == limit:
                    break
        except NotFound:
            return []
        return newest[::-1]

    async def append(self, messages: Sequence[dict[str, Any]]) -> None:
        """Add messages. Those that exceed a request's limits are sent in several requests, so they may interleave."""
        for part in parts(messages):
            await self._conversation.messages.add(*part)

    async def put(
        self, *messages: dict[str, Any], if_match: str | None = None, if_none_match: str | None = None
    ) -> None:
        """Add up to 50 messages, and replace those that are stored. Raise PreconditionFailed."""
        await self._conversation.messages.add(*messages, replace=True, if_match=if_match, if_none_match=if_none_match)

    async def pop(self) -> models.Message | None:
        """Delete the newest message and return it, or None if the transcript is empty.

        The deletion changes the state, because this request has an idempotency key. If its response is lost, a repeat
        succeeds, so no second message is deleted. The ETag prevents that two processes get the same message. Access
        tokens cannot change the state.
        """
        async for _ in attempts():
            try:
                page = await self._conversation.messages.list(limit=1).first_page()
            except NotFound:
                break
            if not page.data:
                break
            try:
                await self._conversation.state(delete={"mids": [page.data[0].mid]}, if_match=page.etag)
            except PreconditionFailed:  # Another process has changed the conversation.
                continue
            return page.data[0]
        return None

    async def remove(self, mid: str) -> None:
        """Delete a message if it is stored."""
        try:
            await self._conversation.messages.delete(mid)
        except NotFound:
            return

    async def delete(self, if_match: str | None = None) -> None:
        """Delete the conversation if it exists. Raise PreconditionFailed."""
        try:
            await self._conversation.delete(if_match=if_match)
        except NotFound:
            return


def parts(messages: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """Yield the messages in parts that fit in a request."""
    part: list[dict[str, Any]] = []
    size = 0
    for each in messages:
        length = len(json.dumps(each))
        if part and (len(part) == _MOST_MESSAGES or size + length > _MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(each)
        size += length
    if part:
        yield part
