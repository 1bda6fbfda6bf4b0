"""The nested configuration objects of an agent record (§2.4, "Nested objects")."""

from typing import Annotated

from pydantic import Field

from chalicelib.http.wire import (
    INTEGRAL_FLOAT_AS_INT,
    SECRET,
    OpenWire,
    OptionalFlag,
    OptionalNumber,
    OptionalOwnId,
    OptionalOwnIds,
    OptionalSecret,
    OptionalText,
    OptionalTexts,
)
from chalicelib.workspaces.models import MAX_RETENTION_DAYS


class KnowledgeBaseModel(OpenWire):
    """The `vg_kb_llm` member of an agent."""

    searchMethod: OptionalText = None
    searchPrompt: OptionalText = None
    modelId: OptionalText = None
    temprature: OptionalNumber = None
    maxTokens: OptionalNumber = None


class PhotoappOptions(OpenWire):
    """The `photoappOptions` member of an agent."""

    pageId: OptionalOwnId = None
    accessToken: OptionalSecret = None


class Flowtool(OpenWire):
    """The `flowtool` member of an agent."""

    webhookUrl: OptionalText = None
    webhookSecret: OptionalSecret = None


class VfSettings(OpenWire):
    """The `vfSettings` member of an agent."""

    enableIgnoreUrlPaths: OptionalFlag = None


class VfConfig(OpenWire):
    """The `vfConfig` member of an agent."""

    alwaysEnableCardButtons: OptionalFlag = None


class VoiceplatformConfig(OpenWire):
    """The `voiceplatformConfig` member of an agent."""

    syncKbOnSave: OptionalFlag = None
    PUBLIC_API_KEY: OptionalSecret = None
    PRIVATE_API_KEY: OptionalSecret = None
    enableVoiceplatformOnWeb: OptionalFlag = None
    overrideWithVG: OptionalFlag = None
    promptOnWeb: OptionalFlag = None
    maxCostMonthly: OptionalNumber = None
    maxMinutesMonthly: OptionalNumber = None
    useVfProject: OptionalFlag = None
    syncTools: OptionalFlag = None


class VgOptions(OpenWire):
    """The `vgOptions` member of an agent."""

    isLlmStudio: OptionalFlag = None
    showSources: OptionalFlag = None
    lightUiEngine: OptionalFlag = None
    legacyKb: OptionalFlag = None
    maxChunkSize: OptionalNumber = None
    handoffTimeout: OptionalNumber = None


class UiVoice(OpenWire):
    """The `ui.voice` member of an agent."""

    question: OptionalText = None
    continueBtnLabel: OptionalText = None
    dismissBtnLabel: OptionalText = None


class Ui(OpenWire):
    """The `ui` member of an agent."""

    bgImageVisible: OptionalFlag = None
    widgetType: OptionalText = None
    enableFixedFeedbackBtns: OptionalFlag = None
    voice: UiVoice | None = None


class Internal(OpenWire):
    """The `internal` member of an agent."""

    accountCreationConfig: OptionalText = None
    websocketServer: OptionalText = None
    setOnResponse: OptionalFlag = None
    enableSetOnLoad: OptionalFlag = None


class Community(OpenWire):
    """The `community` member of an agent."""

    channelIds: OptionalOwnIds = None
    webhookUrls: Annotated[OptionalTexts, SECRET] = None  # anyone with the URL can post


class Limits(OpenWire):
    """The `limits` member of an agent (§8)."""

    maxInteractionsPerUserId: OptionalNumber = None
    maxAnnualCreditsUsage: OptionalNumber = None
    maxMonthlyCreditsUsage: OptionalNumber = None


class Retention(OpenWire):
    """The `retention` member of an agent: how long conversations are kept after their last activity."""

    days: Annotated[int, Field(ge=1, le=MAX_RETENTION_DAYS), INTEGRAL_FLOAT_AS_INT] | None = None


class Advanced(OpenWire):
    """The `advanced` member of an agent."""

    serverUrl: OptionalText = None
    serverUrlSecret: OptionalSecret = None


class FallbackSettings(OpenWire):
    """The `fallbackSettings` member of an agent."""

    model: OptionalText = None
    creditThreshold: OptionalNumber = None


class Marketplace(OpenWire):
    """The `marketplace` member of an agent."""

    enabled: OptionalFlag = None
    priceUSD: OptionalNumber = None
