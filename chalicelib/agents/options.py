"""An agent record's nested configuration objects (§2.4, "Nested objects")."""

from typing import Annotated

from pydantic import Field

from chalicelib.http.wire import (
    INTEGRAL_FLOAT_AS_INT,
    SECRET,
    OptionalFlag,
    OptionalNumber,
    OptionalOwnId,
    OptionalOwnIds,
    OptionalSecret,
    OptionalText,
    OptionalTexts,
    Settings,
)
from chalicelib.workspaces.models import MAX_RETENTION_DAYS


class KnowledgeBaseModel(Settings):
    """An agent's `vg_kb_llm` member."""

    searchMethod: OptionalText = None
    searchPrompt: OptionalText = None
    modelId: OptionalText = None
    temprature: OptionalNumber = None
    maxTokens: OptionalNumber = None


class PhotoappOptions(Settings):
    """An agent's `photoappOptions` member."""

    pageId: OptionalOwnId = None
    accessToken: OptionalSecret = None


class Flowtool(Settings):
    """An agent's `flowtool` member."""

    webhookUrl: OptionalText = None
    webhookSecret: OptionalSecret = None


class VfSettings(Settings):
    """An agent's `vfSettings` member."""

    enableIgnoreUrlPaths: OptionalFlag = None


class VfConfig(Settings):
    """An agent's `vfConfig` member."""

    alwaysEnableCardButtons: OptionalFlag = None


class VoiceplatformConfig(Settings):
    """An agent's `voiceplatformConfig` member."""

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


class VgOptions(Settings):
    """An agent's `vgOptions` member."""

    isLlmStudio: OptionalFlag = None
    showSources: OptionalFlag = None
    lightUiEngine: OptionalFlag = None
    legacyKb: OptionalFlag = None
    maxChunkSize: OptionalNumber = None
    handoffTimeout: OptionalNumber = None


class UiVoice(Settings):
    """An agent's `ui.voice` member."""

    question: OptionalText = None
    continueBtnLabel: OptionalText = None
    dismissBtnLabel: OptionalText = None


class Ui(Settings):
    """An agent's `ui` member."""

    bgImageVisible: OptionalFlag = None
    widgetType: OptionalText = None
    enableFixedFeedbackBtns: OptionalFlag = None
    voice: UiVoice | None = None


class Internal(Settings):
    """An agent's `internal` member."""

    accountCreationConfig: OptionalText = None
    websocketServer: OptionalText = None
    setOnResponse: OptionalFlag = None
    enableSetOnLoad: OptionalFlag = None


class Community(Settings):
    """An agent's `community` member."""

    channelIds: OptionalOwnIds = None
    webhookUrls: Annotated[OptionalTexts, SECRET] = None  # anyone with the URL can post


class Limits(Settings):
    """The `limits` member of an agent (§8)."""

    maxInteractionsPerUserId: OptionalNumber = None
    maxAnnualCreditsUsage: OptionalNumber = None
    maxMonthlyCreditsUsage: OptionalNumber = None


class Retention(Settings):
    """An agent's `retention` member: how long conversations are kept after their last activity."""

    days: Annotated[int, Field(ge=1, le=MAX_RETENTION_DAYS), INTEGRAL_FLOAT_AS_INT] | None = None


class Advanced(Settings):
    """An agent's `advanced` member."""

    serverUrl: OptionalText = None
    serverUrlSecret: OptionalSecret = None


class FallbackSettings(Settings):
    """An agent's `fallbackSettings` member."""

    model: OptionalText = None
    creditThreshold: OptionalNumber = None


class Marketplace(Settings):
    """An agent's `marketplace` member."""

    enabled: OptionalFlag = None
    priceUSD: OptionalNumber = None
