"""Adds messages to a conversation."""

import uuid
from collections.abc import Mapping
from typing import Any

from .. import models
from .._http import Call
from .._records import to_json
from .transport import AsyncTransport

_ACCESS = "cams_access_"


class AsyncAppends:
    """The methods of a conversation's messages that are written by hand."""

    def __init__(self, transport: AsyncTransport, ids: Mapping[str, str]) -> None:
        """Create the messages of the conversation with these ids."""
        self._transport, self._ids = transport, ids

    async def add(
        self, *messages: str | models.Message | Mapping[str, Any], from_: str = "human", if_match: str | None = None
    ) -> list[models.Message]:
        """Add 1 to 50 messages in order, and return them as they are stored.

        `from_` is the author of texts; a dict has the names of the API. The first message creates the conversation,
        unless the credential is an access token. Each message without `mid` gets a new id before it is sent, so
        repeats store it only once.
        """
        is_v3 = self._transport.api_key.startswith(_ACCESS)
        path = "/v3/agents/{agent_id}/convos/{convo_id}" if is_v3 else "/agents/{agent_id}/interact/{convo_id}"
        body = {"messages": [_with_mid(message, from_) for message in messages]}
        call = Call("POST", f"{path}/messages", self._ids, headers={"If-Match": if_match}, json=body, is_append=True)
        response = await self._transport.send(call)
        return response.page(models.Message).data


def _with_mid(message: str | models.Message | Mapping[str, Any], author: str) -> dict[str, Any]:
    if isinstance(message, str):
        message = {"from": author, "type": "text", "item": {"text": message}}
    value: dict[str, Any] = to_json(message)
    return {**value, "mid": value.get("mid") or uuid.uuid4().hex}
