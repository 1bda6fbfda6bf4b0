"""Knows a conversation's paths, and adds messages to it."""

import uuid
from collections.abc import Mapping
from typing import Any

from .. import models
from .._http import Call
from .._records import to_json
from .transport import AsyncTransport

_ACCESS = "cams_access_"


class AsyncBound:
    """A resource of one conversation."""

    def __init__(self, transport: AsyncTransport, ids: Mapping[str, str]) -> None:
        """Create the resource for the conversation with these ids."""
        self._transport, self._ids = transport, ids

    def _path(self, edge: str, v3: str) -> str:
        """Return the path that accepts the credential: access tokens cannot use the edge, and agent keys only that."""
        return v3 if self._transport.api_key.startswith(_ACCESS) else edge


class AsyncAppends(AsyncBound):
    """The method of a conversation's messages that is written by hand."""

    async def add(
        self,
        *messages: str | models.Message | Mapping[str, Any],
        from_: str = "human",
        in_reply_to: str | None = None,
        replace: bool | None = None,
        assign_to_user_id: str | None = None,
        state: str | None = None,
        if_match: str | None = None,
        if_none_match: str | None = None,
    ) -> list[models.Message]:
        """Add 1 to 50 messages in order, and return them as they are stored.

        `from_` is the author of texts; a dict has the names of the API. The first message creates the conversation,
        unless the credential is an access token. Each message without `mid` gets a new id before it is sent, so
        repeats store it only once. `in_reply_to` is the `mid` of the newest message that the author has seen. If
        another message is the newest, raise Outdated; if a person is chatting, raise HumanChatting. With `replace`, a
        message whose `mid` is stored replaces the stored message, so a message can grow under one `mid`.
        `assign_to_user_id` is the id of the client who writes and takes over, and `state` is the state after the
        messages. With `if_none_match="*"`, add messages only to a new conversation, and otherwise raise
        PreconditionFailed.
        """
        path = self._path(
            "/agents/{agent_id}/interact/{convo_id}/messages", "/v3/agents/{agent_id}/convos/{convo_id}/messages"
        )
        options = {"inReplyTo": in_reply_to, "replace": replace, "assignToUserId": assign_to_user_id, "state": state}
        body: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
        body["messages"] = [_with_mid(message, from_) for message in messages]
        headers = {"If-Match": if_match, "If-None-Match": if_none_match, "Idempotency-Key": None}
        call = Call("POST", path, self._ids, headers=headers, json=body, is_append=True)
        response = await self._transport.send(call)
        return response.page(models.Message).data


def _with_mid(message: str | models.Message | Mapping[str, Any], author: str) -> dict[str, Any]:
    if isinstance(message, str):
        message = {"from": author, "type": "text", "item": {"text": message}}
    value: dict[str, Any] = to_json(message)
    return {**value, "mid": value.get("mid") or uuid.uuid4().hex}
