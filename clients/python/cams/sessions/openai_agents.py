"""Sessions of the OpenAI Agents SDK (`pip install cams-client[openai-agents]`)."""

from typing import Any, cast

from agents import SessionSettings, TResponseInputItem

from .. import AsyncClient, models
from .._async.transcript import AsyncTranscript
from .messages import message, text_of


class CamsSession:
    """A session of the SDK, stored as a conversation. Each item is a message, and the user's items are `human`.

    Any number of processes may add items to a session concurrently.
    """

    def __init__(
        self, session_id: str, client: AsyncClient, agent_id: str, session_settings: SessionSettings | None = None
    ) -> None:
        """Create the session. `session_id` is the id of its conversation, which the first item creates."""
        self.session_id = session_id
        self.session_settings = session_settings
        self._transcript = AsyncTranscript(client, agent_id, session_id)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """Return all items, or the newest `limit`, oldest first. The default limit is that of the settings."""
        if limit is None and self.session_settings is not None:
            limit = self.session_settings.limit
        messages = (await self._transcript.read())[0] if limit is None else await self._transcript.newest(limit)
        return [_item(each) for each in messages]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items. Up to 50 are stored together."""
        values: list[dict[str, Any]] = [{**item} for item in items]
        await self._transcript.append(
            [message(value.get("role", "assistant"), "openai-agents", value) for value in values]
        )

    async def pop_item(self) -> TResponseInputItem | None:
        """Delete the newest item and return it, or None if the session is empty."""
        newest = await self._transcript.pop()
        return _item(newest) if newest else None

    async def clear_session(self) -> None:
        """Delete the conversation."""
        await self._transcript.delete()


def _item(stored: models.Message) -> TResponseInputItem:
    """Return an item. A message that a widget or a person has added becomes a message of the SDK.

    A visitor chooses the members of `item` but not the author. So a message from `human` is never more than the user's.
    """
    item = stored.item or {}
    is_message_of_user = item.get("role") == "user" and item.get("type", "message") == "message"
    if is_message_of_user or (stored.from_ != "human" and {"role", "type"} & item.keys()):
        return cast(TResponseInputItem, item)
    return {"role": "user" if stored.from_ == "human" else "assistant", "content": text_of(stored)}
