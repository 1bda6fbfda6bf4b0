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
    """`vg_kb_llm`."""

    searchMethod: OptionalText = None
    searchPrompt: OptionalText = None
    modelId: OptionalText = None
    temprature: OptionalNumber = None
    maxTokens: OptionalNumber = None


class PhotoappOptions(OpenWire):
    """`photoappOptions`."""

    pageId: OptionalOwnId = None
    accessToken: OptionalSecret = None


class Flowtool(OpenWire):
    """`flowtool`."""

    webhookUrl: OptionalText = None
    webhookSecret: OptionalSecret = None


class VfSettings(OpenWire):
    """`vfSettings`."""

    enableIgnoreUrlPaths: OptionalFlag = None


class VfConfig(OpenWire):
    """`vfConfig`."""

    alwaysEnableCardButtons: OptionalFlag = None


class VoiceplatformConfig(OpenWire):
    """`voiceplatformConfig`."""

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
    """`vgOptions`."""

    isLlmStudio: OptionalFlag = None
    showSources: OptionalFlag = None
    lightUiEngine: OptionalFlag = None
    legacyKb: OptionalFlag = None
    maxChunkSize: OptionalNumber = None
    handoffTimeout: OptionalNumber = None


class UiVoice(OpenWire):
    """`ui.voice`."""

    question: OptionalText = None
    continueBtnLabel: OptionalText = None
    dismissBtnLabel: OptionalText = None


class Ui(OpenWire):
    """`ui`."""

    bgImageVisible: OptionalFlag = None
    widgetType: OptionalText = None
    enableFixedFeedbackBtns: OptionalFlag = None
    voice: UiVoice | None = None


class Internal(OpenWire):
    """`internal`."""

    accountCreationConfig: OptionalText = None
    websocketServer: OptionalText = None
    setOnResponse: OptionalFlag = None
    enableSetOnLoad: OptionalFlag = None


class Community(OpenWire):
    """`community`."""

    channelIds: OptionalOwnIds = None
    webhookUrls: Annotated[OptionalTexts, SECRET] = None  # posting needs only this URL


class Limits(OpenWire):
    """`limits` (§8)."""

    maxInteractionsPerUserId: OptionalNumber = None
    maxAnnualCreditsUsage: OptionalNumber = None
    maxMonthlyCreditsUsage: OptionalNumber = None


class Retention(OpenWire):
    """`retention`: how long conversations are kept after their last activity."""

    days: Annotated[int, Field(ge=1, le=MAX_RETENTION_DAYS), INTEGRAL_FLOAT_AS_INT] | None = None


class Advanced(OpenWire):
    """`advanced`."""

    serverUrl: OptionalText = None
    serverUrlSecret: OptionalSecret = None


class FallbackSettings(OpenWire):
    """`fallbackSettings`."""

    model: OptionalText = None
    creditThreshold: OptionalNumber = None


class Marketplace(OpenWire):
    """`marketplace`."""

    enabled: OptionalFlag = None
    priceUSD: OptionalNumber = None
