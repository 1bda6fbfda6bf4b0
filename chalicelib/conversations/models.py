"""Wire models for conversations: metadata, turns, messages, and the state route's request and response."""

from typing import Annotated

from pydantic import ConfigDict, Field, WithJsonSchema, with_config
from typing_extensions import TypeAliasType, TypedDict  # before Python 3.12, pydantic rejects `typing.TypedDict`

from chalicelib.agents.record import AgentV2
from chalicelib.http.wire import (
    INTEGRAL_FLOAT_AS_INT,
    PRESENT_MARK,
    PUBLIC,
    SECRET,
    STRICT,
    Identifier,
    Open,
    OpenObject,
    OpenWire,
    OptionalFlag,
    OptionalNumber,
    OptionalText,
    OptionalTexts,
    Origin,
    Platform,
    PublicNumber,
    PublicText,
    WireModel,
    generated,
    omitted,
    present,
    read_only,
)

# Unknown members of turns and messages are stored and returned. Turns and messages are dictionaries instead of models,
# because a transcript can contain thousands of them, and a dictionary costs about half as much.
_OPEN = ConfigDict({**STRICT, "extra": "allow"})

_PRESENT = Field(json_schema_extra={PRESENT_MARK: True})

TurnMessage = TypedDict(
    "TurnMessage",
    {
        "mid": Annotated[OptionalText, _PRESENT],
        "from": OptionalText,
        "type": OptionalText,
        "item": OpenObject | None,
        "delay": OptionalNumber,
        "ts": OptionalNumber,
    },
    total=False,
)
"""The message in a turn of a response (§2.7). Without `from` or `ts`, the turn's value applies."""


class Message(TurnMessage, total=False):
    """A message (§2.7). `mid` is its id, which the service generates if it is missing."""

    item: Annotated[OpenObject | None, _PRESENT]
    ts: Annotated[OptionalNumber, _PRESENT]


# Only the first invalid message or turn is reported, because a request can contain tens of thousands of them.
_Messages = Annotated[list[Message], Field(fail_fast=True)]

_MAX_MESSAGES = 30_000  # must equal `state.MAX_MESSAGES`
# Accepts integers only, although the specification declares `number`.
_MessagesNumber = Annotated[
    int,
    Field(ge=0, le=_MAX_MESSAGES),
    INTEGRAL_FLOAT_AS_INT,
    WithJsonSchema({"type": "number", "multipleOf": 1, "minimum": 0, "maximum": _MAX_MESSAGES}),
]

TurnIn = TypedDict("TurnIn", {"from": OptionalText, "messages": _Messages | None, "ts": OptionalNumber}, total=False)
"""A turn in a request (§2.7). `ts` defaults to the time of the write."""

_Turns = Annotated[list[TurnIn], Field(fail_fast=True)]

TurnOut = TypedDict(
    "TurnOut", {"from": OptionalText, "messages": TurnMessage, "ts": Annotated[OptionalNumber, _PRESENT]}, total=False
)
"""A turn in a response (§2.7). It has at most one message."""

for _open in (Message, TurnIn, TurnMessage, TurnOut):
    with_config(_OPEN)(_open)
    _open.__extra_items__ = Open  # type: ignore[union-attr]  # mypy does not know `extra_items=Open`


_LabelName = Annotated[str, Field(min_length=1, max_length=64)]
_LabelValue = Annotated[str, Field(max_length=512)]
Labels = TypeAliasType("Labels", Annotated[dict[_LabelName, _LabelValue], Field(max_length=16)])


class ConvoMeta(WireModel):
    """Conversation metadata (§2.6). Counters and times that the service maintains are read-only."""

    ID: PublicText = generated()
    userID: PublicText = None
    userName: PublicText = None
    userEmail: PublicText = None
    userImage: PublicText = None
    userPhone: PublicText = None
    userBrowser: OptionalText = None
    userProfilePic: PublicText = None
    origin: Annotated[Origin | None, PUBLIC] = None
    messagesNum: PublicNumber = read_only()
    interactionsNum: PublicNumber = read_only()
    ts: PublicNumber = None
    tags: OptionalTexts = None
    convoTimeSeconds: OptionalNumber = None
    firstMessageTS: PublicNumber = read_only()
    lastMessageTS: PublicNumber = read_only()
    userPlatform: OptionalText = None
    state: PublicText = None
    chatAssignedTo: OptionalText = None
    lastModified: PublicNumber = read_only()
    sessionsNum: OptionalNumber = None
    labels: Labels | None = None


class ConvoMetaV3(ConvoMeta, OpenWire):
    """Conversation metadata in the v3 form, which has more members, and keeps members that are unknown."""

    agentId: OptionalText = generated()
    messagesNum: PublicNumber = generated()
    interactionsNum: PublicNumber = generated()
    ts: PublicNumber = present()
    lastModified: PublicNumber = generated()
    title: OptionalText = None
    notes: OptionalText = None
    summary: OptionalText = None
    capturedVariables: OpenObject | None = None
    delegatedBy: OptionalText = None
    lastMessage: OptionalText = read_only()
    lastMessageFrom: OptionalText = read_only()
    lastMessageSender: OptionalText = read_only()
    retentionDays: OptionalNumber = read_only()
    messages: _Messages | None = read_only()


class Deletion(WireModel):
    """The messages to delete, by `mid`. Unknown ids are ignored."""

    mids: Annotated[list[str], Field(fail_fast=True)]


class StateIn(WireModel):
    """The body of the state route (§4.3). An empty body only reads the state."""

    turns: _Turns | None = None
    delete: Deletion | None = None
    metadata: ConvoMeta | None = None


class Issue(WireModel):
    """A violated rule or a warning, with the member's path and a description of the rule."""

    path: str
    message: str


class StateOut(WireModel):
    """The state route's response (§4.3), without the `data` envelope."""

    platformName: Platform
    success: bool
    message: str
    chatState: ConvoMeta
    actionMessages: list[Open]
    turns: list[TurnOut]
    appError: str = omitted()
    agentData: AgentV2 = omitted()
    origin: Origin = omitted()
    userID: str
    agentID: str
    oldTurns: list[TurnOut] = omitted()
    warnings: list[Issue] = omitted()


class NewMessages(WireModel):
    """1 to 50 messages to add, in order. A message whose `mid` is already stored is not added again."""

    messages: Annotated[list[Message], Field(fail_fast=True, min_length=1, max_length=50)]
    inReplyTo: OptionalText = None
    replace: OptionalFlag = None
    assignToUserId: Identifier | None = None
    state: OptionalText = None


class NewTurns(WireModel):
    """The body of PATCH /v3/agents/{agent_id}/convos/{convo_id}/messages: all turns, in order.

    `lgMessages` is ignored. The service always updates the conversation's counters, so it ignores a false
    `updateConversationMetadata`.
    """

    turns: _Turns
    updateConversationMetadata: OptionalFlag = None
    lgMessages: list[Open] | None = read_only()


class MessageChange(WireModel):
    """The body of PATCH /v3/agents/{agent_id}/convos/{convo_id}/messages/{message_id}."""

    message: Message


class NewVisitorToken(WireModel):
    """Settings for a new visitor token. The lifetime is one day by default, and at most 30 days."""

    expiresInSeconds: Annotated[int, Field(ge=60, le=30 * 86_400), INTEGRAL_FLOAT_AS_INT] | None = None


class VisitorTokenIn(WireModel):
    """The body of a request that issues a visitor token."""

    token: NewVisitorToken


class VisitorToken(WireModel):
    """A visitor token. Only the response that issues the token contains it. Times use ISO 8601."""

    token: Annotated[str, SECRET]
    expiresAt: str
    createdAt: str


class NewConversation(ConvoMetaV3):
    """A conversation to create (§4.1). `messagesNum` may come from another system; the first turns replace it."""

    messagesNum: _MessagesNumber | None = None


class ConversationIn(WireModel):
    """The body of POST /v3/agents/{agent_id}/convos."""

    conversation: NewConversation


class ConversationChange(WireModel):
    """The body of PATCH /v3/agents/{agent_id}/convos/{convo_id}."""

    conversation: ConvoMetaV3


class Assignment(WireModel):
    """The body of POST /v3/agents/{agent_id}/convos/{convo_id}/assign."""

    assignToUserId: Identifier | None
    delegatedBy: OptionalText = None
    state: OptionalText = None


class AssignedUser(WireModel):
    """The client to which a conversation is assigned."""

    id: str
    name: OptionalText = omitted()
    email: OptionalText = omitted()


class AssignedConversation(WireModel):
    """The response to an assignment. `assignedUser` is absent if the conversation is returned to the agent."""

    success: bool
    message: str
    assignedUser: AssignedUser = omitted()
    data: ConvoMetaV3
    warnings: list[Issue] = omitted()


class CreatedConversation(WireModel):
    """A created conversation (§2.11). `createdAt` uses ISO 8601."""

    id: str
    title: OptionalText = None
    createdAt: str
