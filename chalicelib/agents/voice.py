"""`voiceConfig` of an agent record: speech recognition, speech synthesis and calls (§2.4)."""

from chalicelib.http.wire import (
    Open,
    OpenSecret,
    OpenWire,
    OptionalFlag,
    OptionalNumber,
    OptionalSecret,
    OptionalText,
    OptionalTexts,
)


class SpeechFormat(OpenWire):
    """`transcriber.speechConfig`."""

    format: OptionalText = None
    sampleRate: OptionalNumber = None


class TranscriberInternal(OpenWire):
    """`transcriber.internal`."""

    inputAudioStream: Open = None
    debug: OptionalFlag = None


class TranscriberA(OpenWire):
    """`transcriber.platformSpecific.transcriberA`."""

    keywords: OptionalTexts = None
    language: OptionalText = None
    smart_format: OptionalFlag = None
    model: OptionalText = None
    interim_results: OptionalFlag = None
    endpointing: OptionalNumber = None
    no_delay: OptionalFlag = None


class TranscriberB(OpenWire):
    """`transcriber.platformSpecific.transcriberB`."""

    modelId: OptionalText = None


class TranscriberPlatforms(OpenWire):
    """`transcriber.platformSpecific`."""

    transcriberA: TranscriberA | None = None
    transcriberB: TranscriberB | None = None


class Transcriber(OpenWire):
    """`transcriber`: speech to text."""

    speechConfig: SpeechFormat | None = None
    modelId: OptionalText = None
    patienceFactor: OptionalNumber = None
    language: OptionalText = None
    provider: OptionalText = None
    randomOptions: OpenSecret = None
    internal: TranscriberInternal | None = None
    apiKey: OptionalSecret = None
    utteranceThreshold: OptionalNumber = None
    inputVoiceEnhancer: OptionalFlag = None
    platformSpecific: TranscriberPlatforms | None = None


class WordReplacement(OpenWire):
    """One entry of `speechGen.wordsReplacements`."""

    word: OptionalText = None
    replacement: OptionalText = None


class SpeechA(OpenWire):
    """`speechGen.platformSpecific.speechA`."""

    stability: OptionalNumber = None
    similarity_boost: OptionalNumber = None
    use_speaker_boost: OptionalFlag = None
    speed: OptionalNumber = None
    style: OptionalNumber = None


class SpeechB(OpenWire):
    """`speechGen.platformSpecific.speechB`."""

    voiceId: OptionalText = None


class SpeechPlatforms(OpenWire):
    """`speechGen.platformSpecific`."""

    speechA: SpeechA | None = None
    speechB: SpeechB | None = None


class AudioFormat(OpenWire):
    """`speechGen.internal.audioConfig`."""

    format: OptionalText = None
    sampleRate: OptionalNumber = None
    channels: OptionalNumber = None


class SpeechInternal(OpenWire):
    """`speechGen.internal`."""

    inputTextStream: Open = None
    audioConfig: AudioFormat | None = None
    emitOnComplete: OptionalFlag = None


class SpeechGeneration(OpenWire):
    """`speechGen`: text to speech."""

    highAudioQuality: OptionalFlag = None
    provider: OptionalText = None
    modelId: OptionalText = None
    voiceId: OptionalText = None
    apiKey: OptionalSecret = None
    region: OptionalText = None
    backgroundNoise: OptionalText = None
    punctuationBreaks: OptionalTexts = None
    backChannelling: OptionalFlag = None
    language: OptionalText = None
    enableLongMessageBackchannelling: OptionalFlag = None
    backchannelMessages: OptionalTexts = None
    backchannelInterval: OptionalNumber = None
    wordsReplacements: list[WordReplacement] | None = None
    platformSpecific: SpeechPlatforms | None = None
    internal: SpeechInternal | None = None


class CallConfig(OpenWire):
    """`config`."""

    recordAudio: OptionalFlag = None
    backgroundNoise: OptionalText = None
    enableWebCalling: OptionalFlag = None
    firstInputChunkUNIXMs: OptionalNumber = None
    firstOutputChunkUNIXMs: OptionalNumber = None


class VoiceConfig(OpenWire):
    """`voiceConfig`."""

    transcriber: Transcriber | None = None
    speechGen: SpeechGeneration | None = None
    config: CallConfig | None = None
