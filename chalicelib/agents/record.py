"""The agent record's members in the v2 and v3 forms. `forms` converts between the forms (§2.4, §2.5)."""

from typing import Annotated, Any

from pydantic import BeforeValidator
from pydantic_core import from_json

from chalicelib.agents import options, voice
from chalicelib.agents.nodes import Node, NodesSettings
from chalicelib.http.wire import (
    PUBLIC,
    Number,
    Open,
    OpenSecret,
    OpenWire,
    OptionalAgentKey,
    OptionalFlag,
    OptionalNumber,
    OptionalOwnId,
    OptionalSecret,
    OptionalText,
    OptionalTexts,
    Platform,
    PublicNumber,
    PublicText,
    Settings,
    WireModel,
    find_non_finite,
    generated,
    omitted,
    read_only,
)
from chalicelib.tools.models import NewTool, Tool

PublicFlag = Annotated[OptionalFlag, PUBLIC]


class SharedMembers(OpenWire):
    """Members that have the same name and type in both forms."""

    title: PublicText = None
    description: PublicText = None
    theme: PublicText = None
    VF_DIALOGUE_API_KEY: OptionalSecret = None
    VF_PROJECT_API_KEY: OptionalSecret = None
    SECRET_API_KEY: OptionalAgentKey = None
    roundedImageURL: PublicText = None
    avatarImageUrl: PublicText = None
    headerImageUrl: PublicText = None
    bannerImageUrl: PublicText = None
    chatBgURL: PublicText = None
    fontFamily: PublicText = None
    branding: PublicText = None
    lang: PublicText = None
    buttonsLayout: PublicText = None
    ADVANCED_customCSS: PublicText = None
    chatappToken: OptionalSecret = None
    chatappNumberId: OptionalOwnId = None
    chatappBusniessId: OptionalOwnId = None
    webhookUrl: OptionalText = None
    cloudPrivateKey: OptionalSecret = None
    cloudClientEmail: OptionalText = None
    vg_initMessages: Annotated[OptionalTexts, PUBLIC] = None
    vg_systemPrompt: OptionalText = None
    vg_temperature: OptionalNumber = None
    vg_maxTokens: OptionalNumber = None
    vg_kbDefaultDimension: OptionalNumber = None
    vg_kbTopChunks: OptionalNumber = None
    vg_defaultModel: OptionalText = None
    vg_enableUIEngine: OptionalFlag = None
    messageDelayMS: PublicNumber = None
    proactiveMessage: PublicText = None
    recordChatHistory: OptionalFlag = None
    disableSmoothScroll: PublicFlag = None
    autoStartWidget: PublicFlag = None
    listenForUrlChanges: PublicFlag = None
    chatForget: PublicFlag = None
    enableAudioSupport: PublicFlag = None
    enableAITranslate: OptionalFlag = None
    disableNoReplyListener: OptionalFlag = None
    alwaysShowHandoff: PublicFlag = None
    fixedHandoffPopup: PublicFlag = None
    smartInit: OptionalFlag = None
    showHandoffEvenIfOffline: PublicFlag = None
    enableQuickFileUpload: PublicFlag = None


class Theme(Settings):
    """`customThemeJSONString` in the v2 form."""

    themeType: PublicText = None
    primary: PublicText = None
    nineColorPallet: Annotated[list[list[Number]] | None, PUBLIC] = None


def parse_theme(value: Any) -> Any:
    """Return the parsed theme if `value` is JSON text, which v2 also accepts. Otherwise return `value`."""
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

    agentPlatform: Annotated[Platform | None, PUBLIC] = None
    customThemeJSONString: Annotated[Theme | None, BeforeValidator(parse_theme), PUBLIC] = None
    UIhandoffdescription: PublicText = None
    UIhandoffSubdescription: PublicText = None


class AgentV3(SharedMembers):
    """An agent in the v3 form (§2.4)."""

    # Identity and status
    ownerID: OptionalText = generated()
    ID: OptionalText = generated()
    id: OptionalText = generated()
    storageID: OptionalOwnId = None
    createdAtUNIX: OptionalNumber = generated()
    lastModified: OptionalNumber = generated()
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
    VF_PROJECT_ID: OptionalOwnId = None
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
    retention: options.Retention | None = None
    fallbackSettings: options.FallbackSettings | None = None
    marketplace: options.Marketplace | None = None
    voiceConfig: voice.VoiceConfig | None = None
    nodes: list[Node] | None = None
    nodesSettings: NodesSettings | None = None


class NewAgent(AgentV3):
    """A new agent, and the `tools` that are created with it."""

    # A template is returned in the form in which it is imported.
    has_one_form = True

    tools: list[NewTool] | None = None  # type: ignore[assignment]


class NewAgentIn(WireModel):
    """The body of POST /v3/agents."""

    agent: NewAgent


class AgentIn(WireModel):
    """The body of PATCH /v3/agents/{agent_id}. `tools` are accepted and ignored."""

    agent: AgentV3


class AgentSearch(WireModel):
    """A page of agents and of starred agents. The totals are absent if not all agents were examined."""

    success: bool
    message: str
    agents: list[AgentV3]
    starredAgents: list[AgentV3]
    total: Number = omitted()
    totalStarred: Number = omitted()
    page: Number
    limit: Number
    hasMore: bool
    nextCursor: str = omitted()
