"""Conversations on the wire: metadata, turns and messages, the state route's request and answer."""

from typing import Any, Literal

from pydantic import ConfigDict, with_config
from typing_extensions import TypedDict  # pydantic refuses that of `typing` before Python 3.12

from chalicelib.agents.record import AgentV2
from chalicelib.http.wire import STRICT, Open, OptionalNumber, OptionalText, OptionalTexts, Wire, read_only

Origin = Literal["web-chat", "chatapp", "community", "gb-chat"]

# What else a turn or a message carries is kept and returned. They are dictionaries, not models: a
# transcript has thousands, and a dictionary costs about half.
_OPEN = ConfigDict({**STRICT, "extra": "allow"})

Message = TypedDict(
    "Message",
    {
        "mid": OptionalText,
        "from": OptionalText,
        "type": OptionalText,
        "item": dict[str, Open] | None,
        "delay": OptionalNumber,
        "ts": OptionalNumber,
    },
    total=False,
)
"""A message (§2.7). `mid` is its id: kept when it is given, made when it is not."""

TurnIn = TypedDict(
    "TurnIn", {"from": OptionalText, "messages": list[Message] | None, "ts": OptionalNumber}, total=False
)
"""A turn in a request (§2.7). `ts` is the time of the write when it is not given."""

TurnOut = TypedDict("TurnOut", {"from": OptionalText, "messages": Message, "ts": OptionalNumber}, total=False)
"""A turn in an answer (§2.7): one message each."""

for _open in (Message, TurnIn, TurnOut):
    with_config(_OPEN)(_open)
    _open.__extra_items__ = Open  # type: ignore[union-attr]  # `extra_items=Open` above, which mypy does not know


class ConvoMeta(Wire):
    """The metadata of a conversation (§2.6). What the service counts itself is read only."""

    ID: OptionalText = read_only()
    userID: OptionalText = None
    userName: OptionalText = None
    userEmail: OptionalText = None
    userImage: OptionalText = None
    userPhone: OptionalText = None
    userBrowser: OptionalText = None
    userProfilePic: OptionalText = None
    origin: Origin | None = None
    messagesNum: OptionalNumber = read_only()
    interactionsNum: OptionalNumber = read_only()
    ts: OptionalNumber = None
    tags: OptionalTexts = None
    convoTimeSeconds: OptionalNumber = None
    firstMessageTS: OptionalNumber = read_only()
    lastMessageTS: OptionalNumber = read_only()
    userPlatform: OptionalText = None
    state: OptionalText = None
    chatAssignedTo: OptionalText = None
    lastModified: OptionalNumber = read_only()
    sessionsNum: OptionalNumber = None


class Deletion(Wire):
    """Messages to delete, by their `mid`; unknown ones are ignored."""

    mids: list[str]


class StateIn(Wire):
    """The body of the state route (§4.3); none of its members means: read."""

    turns: list[TurnIn] | None = None
    delete: Deletion | None = None
    metadata: ConvoMeta | None = None


class StateOut(Wire):
    """The answer of the state route (§4.3), unwrapped."""

    platformName: Literal["vf", "vg"]
    success: bool
    message: str
    chatState: dict[str, Any] | None = None
    actionMessages: list[Open] | None = None
    turns: list[TurnOut] | None = None
    appError: OptionalText = None
    agentData: AgentV2 | None = None
    origin: Origin | None = None
    userID: OptionalText = None
    agentID: OptionalText = None
    oldTurns: list[TurnOut] | None = None


class NewConversation(Wire):
    """A conversation to create (§4.1)."""

    ts: OptionalNumber = None
    messagesNum: OptionalNumber = None
    title: OptionalText = None
    userID: OptionalText = None


class ConversationIn(Wire):
    """The body of POST /v3/agents/{agent_id}/convos."""

    conversation: NewConversation


class CreatedConversation(Wire):
    """A conversation that has just been created (§2.11); `createdAt` is ISO 8601."""

    id: str
    title: OptionalText = None
    createdAt: str
