"""Wire models of the OpenAI Conversations API (https://developers.openai.com/api/reference/resources/conversations)."""

from typing import Annotated

from pydantic import Field

from chalicelib.conversations.models import Labels
from chalicelib.http.wire import OpenObject, WireModel

_Items = Annotated[list[OpenObject], Field(max_length=20)]  # `items.to_messages` checks the items


class NewOpenAiConversation(WireModel):
    """A conversation to create, with up to 20 items. `metadata` becomes its labels."""

    items: _Items | None = None
    metadata: Labels | None = None


class NewOpenAiMetadata(WireModel):
    """The metadata that replaces a conversation's labels."""

    metadata: Labels | None


class OpenAiItems(WireModel):
    """1 to 20 items to add, in order."""

    items: Annotated[_Items, Field(min_length=1)]
