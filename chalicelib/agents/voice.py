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
    """The member `transcriber.speechConfig` of `voiceConfig`."""

    format: OptionalText = None
    sampleRate: OptionalNumber = None


class TranscriberInternal(OpenWire):
    """The member `transcriber.internal` of `voiceConfig`."""

    inputAudioStream: Open = None
    debug: OptionalFlag = None


class TranscriberA(OpenWire):
    """The member `transcriber.platformSpecific.transcriberA` of `voiceConfig`."""

    keywords: OptionalTexts = None
    language: OptionalText = None
    smart_format: OptionalFlag = None
    model: OptionalText = None
    interim_results: OptionalFlag = None
    endpointing: OptionalNumber = None
    no_delay: OptionalFlag = None


class TranscriberB(OpenWire):
    """The member `transcriber.platformSpecific.transcriberB` of `voiceConfig`."""

    modelId: OptionalText = None


class TranscriberPlatforms(OpenWire):
    """The member `transcriber.platformSpecific` of `voiceConfig`."""

    transcriberA: TranscriberA | None = None
    transcriberB: TranscriberB | None = None


class Transcriber(OpenWire):
    """The member `transcriber` of `voiceConfig`: speech to text."""

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
    """An entry of `speechGen.wordsReplacements`."""

    word: OptionalText = None
    replacement: OptionalText = None


class SpeechA(OpenWire):
    """The member `speechGen.platformSpecific.speechA` of `voiceConfig`."""

    stability: OptionalNumber = None
    similarity_boost: OptionalNumber = None
    use_speaker_boost: OptionalFlag = None
    speed: OptionalNumber = None
    style: OptionalNumber = None


class SpeechB(OpenWire):
    """The member `speechGen.platformSpecific.speechB` of `voiceConfig`."""

    voiceId: OptionalText = None


class SpeechPlatforms(OpenWire):
    """The member `speechGen.platformSpecific` of `voiceConfig`."""

    speechA: SpeechA | None = None
    speechB: SpeechB | None = None


class AudioFormat(OpenWire):
    """The member `speechGen.internal.audioConfig` of `voiceConfig`."""

    format: OptionalText = None
    sampleRate: OptionalNumber = None
    channels: OptionalNumber = None


class SpeechInternal(OpenWire):
    """The member `speechGen.internal` of `voiceConfig`."""

    inputTextStream: Open = None
    audioConfig: AudioFormat | None = None
    emitOnComplete: OptionalFlag = None


class SpeechGeneration(OpenWire):
    """The member `speechGen` of `voiceConfig`: text to speech."""

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
    """The member `config` of `voiceConfig`."""

    recordAudio: OptionalFlag = None
    backgroundNoise: OptionalText = None
    enableWebCalling: OptionalFlag = None
    firstInputChunkUNIXMs: OptionalNumber = None
    firstOutputChunkUNIXMs: OptionalNumber = None


class VoiceConfig(OpenWire):
    """The member `voiceConfig` of an agent."""

    transcriber: Transcriber | None = None
    speechGen: SpeechGeneration | None = None
    config: CallConfig | None = None
