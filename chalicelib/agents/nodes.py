"""An agent record's `nodes` and `nodesSettings`: the conversation flow as a graph (§2.4)."""

from chalicelib.http.wire import (
    Open,
    OpenWire,
    OptionalFlag,
    OptionalNumber,
    OptionalText,
    OptionalTexts,
    Settings,
    present,
)


class ModelOptions(Settings):
    """A node's language model and its parameters."""

    modelId: OptionalText = None
    temperature: OptionalNumber = None
    maxTokens: OptionalNumber = None


class ChildNode(Settings):
    """A graph edge: the target node and its condition."""

    nodeId: OptionalText = None
    condition: OptionalText = None


class AutoRerouter(Settings):
    """A node's `autoRerouter` member."""

    enabled: OptionalFlag = None
    level: OptionalNumber = None


class NodeKnowledgeBase(Settings):
    """A node's `kb` member."""

    enabled: OptionalFlag = None
    maxChunks: OptionalNumber = None
    tags: OptionalTexts = None
    smartSearch: OptionalFlag = None


class ConditionData(Settings):
    """A node's `conditionData` member."""

    condition: OptionalText = None


class PreStart(Settings):
    """A node's `preStart` member."""

    url: OptionalText = None
    enabled: OptionalFlag = None
    testConvoIdValue: OptionalText = None


class Node(OpenWire):
    """An entry in `nodes`. A change is merged into the stored node with the same `id`. A node without `id` is new."""

    id: OptionalText = present()
    name: OptionalText = None
    description: OptionalText = None
    instructions: OptionalText = None
    isGlobal: OptionalFlag = None
    toolsIds: OptionalTexts = None
    childrenNodes: list[ChildNode] | None = None
    llmConfig: ModelOptions | None = None
    routerLlmConfig: ModelOptions | None = None
    toolUseBias: OptionalNumber = None
    autoRerouter: AutoRerouter | None = None
    type: OptionalText = None
    rf: Open = None
    kb: NodeKnowledgeBase | None = None
    conditionData: ConditionData | None = None
    preStart: PreStart | None = None


class SilenceDetection(Settings):
    """The `silenceDetection` member of `nodesSettings`."""

    enabled: OptionalFlag = None
    timeoutSeconds: OptionalNumber = None
    endCallAfterNPhrases: OptionalNumber = None


class SmartEndpointing(Settings):
    """The `smartEndpointing` member of `nodesSettings`."""

    enabled: OptionalFlag = None
    waitSeconds: OptionalNumber = None
    onPunctuationSeconds: OptionalNumber = None
    onNoPunctuationSeconds: OptionalNumber = None
    onNumberSeconds: OptionalNumber = None


class StopSpeakPlan(Settings):
    """The `stopSpeakPlan` member of `nodesSettings`."""

    minWords: OptionalNumber = None


class NodesSettings(Settings):
    """An agent's `nodesSettings` member."""

    appendBeforePrompt: OptionalText = None
    routerLLmOptions: ModelOptions | None = None
    defaultLLmOptions: ModelOptions | None = None
    backchannelOnChoosingNodes: OptionalFlag = None
    enableUiEngine: OptionalFlag = None
    fallbackModelIds: OptionalTexts = None
    silenceDetection: SilenceDetection | None = None
    startCallPhrases: OptionalTexts = None
    fillerWordsOnToolUsage: OptionalFlag = None
    smartEndpointing: SmartEndpointing | None = None
    stopSpeakPlan: StopSpeakPlan | None = None
    callTimeoutSeconds: OptionalNumber = None
