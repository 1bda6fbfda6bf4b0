"""Wire models for tools (§2.2, §2.3, §4.1)."""

from typing import Annotated

from pydantic import AfterValidator, Field, create_model

from chalicelib.http.wire import (
    VISIBLE,
    OpenSecret,
    OptionalFlag,
    OptionalOwnId,
    OptionalOwnIds,
    OptionalSecret,
    OptionalText,
    OptionalTexts,
    WireModel,
    generated,
    omitted,
    present,
    read_only,
    require_visible,
)

# A class body cannot declare the member `in`, which is a Python keyword.
_WithIn = create_model("_WithIn", __base__=WireModel, **{"in": (OptionalText, None)})  # type: ignore[call-overload]


class ToolField(_WithIn):  # type: ignore[misc,valid-type]
    """A parameter of a tool call; `in` is its place in the request. The service generates a missing `id` (§2.3)."""

    id: OptionalOwnId = present()
    type: OptionalText = None
    # These values are secret, because they may authorise the call if they are sent in a header.
    value: OpenSecret = None
    defaultValue: OpenSecret = None
    key: OptionalText = None
    description: OptionalText = None
    required: OptionalFlag = None
    reusable: OptionalFlag = None
    isEnv: OptionalFlag = None
    isSystem: OptionalFlag = None
    isGlobal: OptionalFlag = None
    agentId: OptionalOwnId = None
    userId: OptionalOwnId = None


ToolName = Annotated[str, AfterValidator(require_visible), Field(json_schema_extra={"pattern": VISIBLE})]


class Tool(WireModel):
    """A tool (§2.2). Read-only members are accepted in requests and ignored."""

    id: OptionalText = generated()
    isDefault: OptionalFlag = None
    method: OptionalText = None
    name: OptionalText = present()
    description: OptionalText = None
    serverUrl: OptionalText = None
    serverUrlSecret: OptionalSecret = None
    createdAt: OptionalText = generated()
    updatedAt: OptionalText = generated()
    disabled: OptionalFlag = None
    isVoiceplatformTool: OptionalFlag = None
    voiceplatformId: OptionalOwnId = None
    isGlobal: OptionalFlag = None
    variablesIds: OptionalOwnIds = None
    agentId: OptionalText = generated()
    userId: OptionalText = generated()
    backchannellingPhrases: OptionalTexts = read_only()
    fields: list[ToolField] | None = None
    channels: OptionalTexts = None


class NewTool(Tool):
    """A new tool. `name` is required; `variablesIds` is ignored when a tool is created (§4.1)."""

    name: ToolName
    variablesIds: OptionalTexts = read_only()


class ToolUpdate(Tool):
    """A change to a tool. `name` may be omitted, but must not be null."""

    name: ToolName = omitted()


class ToolIn(WireModel):
    """The body of POST /v3/agents/{agent_id}/tools."""

    tool: NewTool


class ToolChange(WireModel):
    """The body of PATCH /v3/tools/{tool_id}. Omitted members keep their values; `fields` is replaced as a whole."""

    tool: ToolUpdate
