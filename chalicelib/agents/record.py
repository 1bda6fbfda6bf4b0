"""The agent record: its members, and the v2 and v3 forms of the stored document.

The document is stored in the v3 form. The v2 form is a projection: it has fewer members, renames two, and has the
theme as an object instead of JSON text (§2.4, §2.5). A write in one form keeps the members that only the other has.
Members that no form has are kept and shown in both, so that a newer client loses nothing.
"""

import json
from typing import Annotated, Any

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError
from pydantic_core import from_json

from chalicelib import errors, ids
from chalicelib.agents import options, voice
from chalicelib.agents.nodes import Node, NodesSettings
from chalicelib.http.wire import (
    STRICT,
    Number,
    Open,
    OpenSecret,
    OpenWire,
    OptionalFlag,
    OptionalNumber,
    OptionalSecret,
    OptionalText,
    OptionalTexts,
    Platform,
    Wire,
    find_non_finite,
    read_only,
)
from chalicelib.tools.models import NewTool, Tool

Document = dict[str, Any]

# Members with a different name in v2: v2 name -> name in the document.
_RENAMED = {"UIhandoffdescription": "UIhandoffTitle", "UIhandoffSubdescription": "UIhandoffSubtitle"}
_PLATFORMS = ("vf", "vg")


class SharedMembers(OpenWire):
    """The members with the same name and type in both forms."""

    title: OptionalText = None
    description: OptionalText = None
    theme: OptionalText = None
    VF_DIALOGUE_API_KEY: OptionalSecret = None
    VF_PROJECT_API_KEY: OptionalSecret = None
    SECRET_API_KEY: OptionalSecret = None
    roundedImageURL: OptionalText = None
    avatarImageUrl: OptionalText = None
    headerImageUrl: OptionalText = None
    bannerImageUrl: OptionalText = None
    chatBgURL: OptionalText = None
    fontFamily: OptionalText = None
    branding: OptionalText = None
    lang: OptionalText = None
    buttonsLayout: OptionalText = None
    ADVANCED_customCSS: OptionalText = None
    chatappToken: OptionalSecret = None
    chatappNumberId: OptionalText = None
    chatappBusniessId: OptionalText = None
    webhookUrl: OptionalText = None
    cloudPrivateKey: OptionalSecret = None
    cloudClientEmail: OptionalText = None
    vg_initMessages: OptionalTexts = None
    vg_systemPrompt: OptionalText = None
    vg_temperature: OptionalNumber = None
    vg_maxTokens: OptionalNumber = None
    vg_kbDefaultDimension: OptionalNumber = None
    vg_kbTopChunks: OptionalNumber = None
    vg_defaultModel: OptionalText = None
    vg_enableUIEngine: OptionalFlag = None
    messageDelayMS: OptionalNumber = None
    proactiveMessage: OptionalText = None
    recordChatHistory: OptionalFlag = None
    disableSmoothScroll: OptionalFlag = None
    autoStartWidget: OptionalFlag = None
    listenForUrlChanges: OptionalFlag = None
    chatForget: OptionalFlag = None
    enableAudioSupport: OptionalFlag = None
    enableAITranslate: OptionalFlag = None
    disableNoReplyListener: OptionalFlag = None
    alwaysShowHandoff: OptionalFlag = None
    fixedHandoffPopup: OptionalFlag = None
    smartInit: OptionalFlag = None
    showHandoffEvenIfOffline: OptionalFlag = None
    enableQuickFileUpload: OptionalFlag = None


class Theme(Wire):
    """`customThemeJSONString` in the v2 form. Other members are kept, because v3 accepts any text."""

    model_config = ConfigDict({**STRICT, "extra": "allow"})
    __pydantic_extra__: dict[str, Open] = Field(init=False)

    themeType: OptionalText = None
    primary: OptionalText = None
    nineColorPallet: list[list[Number]] | None = None


def _parse_theme(value: Any) -> Any:
    """The parsed theme if `value` is its JSON text, which v2 also accepts. Any other value is returned unchanged."""
    if not isinstance(value, str):
        return value
    raw = value.encode("utf-8", "surrogatepass")
    try:
        theme = from_json(raw, allow_inf_nan=False)
    except ValueError:
        return value
    return value if theme is None or any(find_non_finite(raw)) else theme


class AgentV2(SharedMembers):
    """An agent in the v2 form (§2.5)."""

    agentPlatform: Platform | None = None
    customThemeJSONString: Annotated[Theme | None, BeforeValidator(_parse_theme)] = None
    UIhandoffdescription: OptionalText = None
    UIhandoffSubdescription: OptionalText = None


class AgentV3(SharedMembers):
    """An agent in the v3 form (§2.4)."""

    # Identity and status
    ownerID: OptionalText = None
    ID: OptionalText = read_only()
    id: OptionalText = read_only()
    storageID: OptionalText = None
    createdAtUNIX: OptionalNumber = read_only()
    lastModified: OptionalNumber = read_only()
    disabled: OptionalFlag = None
    isDeployed: OptionalFlag = None
    deployed: OptionalFlag = None
    starred: OptionalFlag = None
    region: OptionalText = None
    agentPlatform: Open = None
    vectorDb: OpenSecret = None
    withRefresh: OptionalFlag = None
    # Look and widget
    customThemeJSONString: OptionalText = None
    rectangeImageURL: OptionalText = None
    customButtonJSON_STRING: OptionalText = None
    soundEffectUrl: OptionalText = None
    soundEffectEnabled: OptionalFlag = None
    scrollAnimation: OptionalFlag = None
    UIhandoffTitle: OptionalText = None
    UIhandoffSubtitle: OptionalText = None
    # Behaviour
    acceptFileUpload: OptionalFlag = None
    syncBrowser: OptionalFlag = None
    delayBeforeSubmit: OptionalNumber = None
    AITranslateTo: OptionalText = None
    translateUserResponse: OptionalFlag = None
    disableHumanHandoff: OptionalFlag = None
    manualControl: OptionalFlag = None
    enableVGHandoff: OptionalFlag = None
    enableGeoAnalytics: OptionalFlag = None
    disableAutoTranscribeAudio: OptionalFlag = None
    disableRating: OptionalFlag = None
    chatEndMessage: OptionalText = None
    aiIntroductionMessage: OptionalText = None
    enableNodes: OptionalFlag = None
    enableFallback: OptionalFlag = None
    # Usage and counters
    tokensUsage: Open = None
    maxTokensUsage: Open = None
    allTimeTriggers: OptionalNumber = None
    messagesLimit: OptionalNumber = None
    # Platform keys
    VF_PROJECT_ID: OptionalText = None
    VF_KB_API_KEY: OptionalSecret = None
    # Channel settings
    waTestNumber: OptionalText = None
    waVerifyPassed: OptionalFlag = None
    waTestPassed: OptionalFlag = None
    igVerified: OptionalFlag = None
    igAccessToken: OptionalSecret = None
    photoAgentUsername: OptionalText = None
    # Model settings
    vg_initPrompt: OptionalText = None
    vg_prompt: OptionalText = None
    vg_kbCharCount: OptionalNumber = None
    vg_kbDocsNum: OptionalNumber = None
    vg_enableAboutContext: OptionalFlag = None
    vg_max_messages_history: OptionalNumber = None
    ifKnowsThreshold: OptionalNumber = None
    # Lists
    assignedToolsIds: OptionalTexts = None
    convoTags: OptionalTexts = None
    kbTags: OptionalTexts = None
    tabs: list[Open] | None = None
    kbTagsDataMap: list[Open] | None = None
    voiceplatform: OpenSecret = None
    tools: list[Tool] | None = read_only()
    # Nested objects
    vg_kb_llm: options.KnowledgeBaseModel | None = None
    photoappOptions: options.PhotoappOptions | None = None
    flowtool: options.Flowtool | None = None
    vfSettings: options.VfSettings | None = None
    vfConfig: options.VfConfig | None = None
    voiceplatformConfig: options.VoiceplatformConfig | None = None
    vgOptions: options.VgOptions | None = None
    ui: options.Ui | None = None
    internal: options.Internal | None = None
    community: options.Community | None = None
    limits: options.Limits | None = None
    advanced: options.Advanced | None = None
    fallbackSettings: options.FallbackSettings | None = None
    marketplace: options.Marketplace | None = None
    voiceConfig: voice.VoiceConfig | None = None
    nodes: list[Node] | None = None
    nodesSettings: NodesSettings | None = None


class NewAgent(AgentV3):
    """A new agent. Its `tools` are created with it."""

    tools: list[NewTool] | None = None  # type: ignore[assignment]


class NewAgentIn(Wire):
    """The body of POST /v3/agents."""

    agent: NewAgent


class AgentIn(Wire):
    """The body of PATCH /v3/agents/{agent_id}. `tools` are accepted and ignored."""

    agent: AgentV3


_V2_ONLY = frozenset(AgentV2.model_fields) - frozenset(AgentV3.model_fields)
_V3_ONLY = frozenset(AgentV3.model_fields) - frozenset(AgentV2.model_fields)


def merge_v3(document: Document, change: AgentV3) -> Document:
    """`document` with a v3 change: objects merge, lists replace, `nodes` merge by id, null clears. Raises Invalid."""
    for name in change.model_fields_set & _V2_ONLY:
        raise errors.Invalid.member(f"agent.{name}", f"is a member of the v2 form; here it is {_RENAMED[name]}")
    merged = change.merge_into(document)
    if change.nodes is not None:
        merged["nodes"] = _merge_nodes(document.get("nodes", []), change.nodes)
    return merged


def merge_v2(document: Document, change: AgentV2) -> Document:
    """`document` with a v2 change: top-level members replace, null clears. Raises Invalid."""
    for name in sorted(change.model_fields_set & _V3_ONLY):
        raise errors.Invalid.member(name, "is a member of the v3 form only; change it at /v3/agents/{agent_id}")
    members = change.writable_members()
    if change.customThemeJSONString is not None:
        theme = change.customThemeJSONString.model_dump(exclude_unset=True)
        members["customThemeJSONString"] = _theme_text(theme, document.get("customThemeJSONString"))
    merged = {**document, **{_RENAMED.get(name, name): value for name, value in members.items()}}
    return {name: value for name, value in merged.items() if value is not None}


def v2_form(document: Document) -> Document:
    """The document in the v2 form, without a platform or theme that v2 cannot represent."""
    projection = {name: document[name] for name in SharedMembers.model_fields if name in document}
    projection |= {name: document[stored] for name, stored in _RENAMED.items() if stored in document}
    projection |= {name: value for name, value in document.items() if name not in AgentV3.model_fields}
    if document.get("agentPlatform") in _PLATFORMS:
        projection["agentPlatform"] = document["agentPlatform"]
    theme = _theme(document.get("customThemeJSONString"))
    return projection if theme is None else {**projection, "customThemeJSONString": theme}


def platform(document: Document) -> str:
    """`platformName` of the interaction route (§4.3): `vf`, or `vg` for any other platform."""
    return document["agentPlatform"] if document.get("agentPlatform") in _PLATFORMS else "vg"


def _theme(text: str | None) -> Document | None:
    """The theme in the stored text. None if it is not a theme: v3 accepts any text."""
    theme: Document = _parse_theme(text)
    try:
        Theme.model_validate(theme)
    except ValidationError:
        return None
    return theme


def _theme_text(theme: Document, stored: str | None) -> str:
    """The JSON text to store for a theme. An unchanged theme keeps its stored text, so v3 clients see no change."""
    if stored is not None and json.dumps(theme, sort_keys=True) == json.dumps(_theme(stored), sort_keys=True):
        return stored
    return json.dumps(theme, ensure_ascii=False, separators=(",", ":"))


def _merge_nodes(stored: list[Document], changes: list[Node]) -> list[Document]:
    """The stored nodes in their order, merged with the changes by id, then the new nodes. Raises Invalid.

    A node without an id is new and gets one.
    """
    nodes = {node["id"]: node for node in stored}
    seen: set[str] = set()
    for index, change in enumerate(changes):
        node_id = change.id or ids.new_id()
        if node_id in seen:
            raise errors.Invalid.member(f"agent.nodes.{index}.id", "is duplicated")
        seen.add(node_id)
        nodes[node_id] = {**change.merge_into(nodes.get(node_id, {})), "id": node_id}
    return list(nodes.values())
