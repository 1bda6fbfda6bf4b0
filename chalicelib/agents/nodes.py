"""`nodes` and `nodesSettings` of an agent record: the conversation flow as a graph (§2.4)."""

from pydantic import ConfigDict, Field

from chalicelib.http.wire import STRICT, Open, OptionalFlag, OptionalNumber, OptionalText, OptionalTexts, Wire


class ModelOptions(Wire):
    """The language model of a node and its parameters."""

    modelId: OptionalText = None
    temperature: OptionalNumber = None
    maxTokens: OptionalNumber = None


class ChildNode(Wire):
    """An edge of the graph: the target node and its condition."""

    nodeId: OptionalText = None
    condition: OptionalText = None


class AutoRerouter(Wire):
    """`autoRerouter`."""

    enabled: OptionalFlag = None
    level: OptionalNumber = None


class NodeKnowledgeBase(Wire):
    """`kb`."""

    enabled: OptionalFlag = None
    maxChunks: OptionalNumber = None
    tags: OptionalTexts = None
    smartSearch: OptionalFlag = None


class ConditionData(Wire):
    """`conditionData`."""

    condition: OptionalText = None


class PreStart(Wire):
    """`preStart`."""

    url: OptionalText = None
    enabled: OptionalFlag = None
    testConvoIdValue: OptionalText = None


class Node(Wire):
    """An entry of `nodes`. A change merges into the stored node with the same `id`, which is required."""

    # `record.merge_v3` enforces `id`, by which nodes merge; the model itself accepts any part of a node.
    model_config = ConfigDict({**STRICT, "json_schema_extra": {"required": ["id"]}})

    id: OptionalText = Field(default=None, json_schema_extra={"type": "string", "minLength": 1})
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


class SilenceDetection(Wire):
    """`silenceDetection`."""

    enabled: OptionalFlag = None
    timeoutSeconds: OptionalNumber = None
    endCallAfterNPhrases: OptionalNumber = None


class SmartEndpointing(Wire):
    """`smartEndpointing`."""

    enabled: OptionalFlag = None
    waitSeconds: OptionalNumber = None
    onPunctuationSeconds: OptionalNumber = None
    onNoPunctuationSeconds: OptionalNumber = None
    onNumberSeconds: OptionalNumber = None


class StopSpeakPlan(Wire):
    """`stopSpeakPlan`."""

    minWords: OptionalNumber = None


class NodesSettings(Wire):
    """`nodesSettings`."""

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
