"""An agent record's `voiceConfig`: speech recognition, speech synthesis and calls (§2.4)."""

from chalicelib.http.wire import (
    Open,
    OpenSecret,
    OptionalFlag,
    OptionalNumber,
    OptionalSecret,
    OptionalText,
    OptionalTexts,
    Settings,
)


class SpeechFormat(Settings):
    """The `transcriber.speechConfig` member of `voiceConfig`."""

    format: OptionalText = None
    sampleRate: OptionalNumber = None


class TranscriberInternal(Settings):
    """The `transcriber.internal` member of `voiceConfig`."""

    inputAudioStream: Open = None
    debug: OptionalFlag = None


class TranscriberA(Settings):
    """The `transcriber.platformSpecific.transcriberA` member of `voiceConfig`."""

    keywords: OptionalTexts = None
    language: OptionalText = None
    smart_format: OptionalFlag = None
    model: OptionalText = None
    interim_results: OptionalFlag = None
    endpointing: OptionalNumber = None
    no_delay: OptionalFlag = None


class TranscriberB(Settings):
    """The `transcriber.platformSpecific.transcriberB` member of `voiceConfig`."""

    modelId: OptionalText = None


class TranscriberPlatforms(Settings):
    """The `transcriber.platformSpecific` member of `voiceConfig`."""

    transcriberA: TranscriberA | None = None
    transcriberB: TranscriberB | None = None


class Transcriber(Settings):
    """The `transcriber` member of `voiceConfig`: speech to text."""

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


class WordReplacement(Settings):
    """An entry in `speechGen.wordsReplacements`."""

    word: OptionalText = None
    replacement: OptionalText = None


class SpeechA(Settings):
    """The `speechGen.platformSpecific.speechA` member of `voiceConfig`."""

    stability: OptionalNumber = None
    similarity_boost: OptionalNumber = None
    use_speaker_boost: OptionalFlag = None
    speed: OptionalNumber = None
    style: OptionalNumber = None


class SpeechB(Settings):
    """The `speechGen.platformSpecific.speechB` member of `voiceConfig`."""

    voiceId: OptionalText = None


class SpeechPlatforms(Settings):
    """The `speechGen.platformSpecific` member of `voiceConfig`."""

    speechA: SpeechA | None = None
    speechB: SpeechB | None = None


class AudioFormat(Settings):
    """The `speechGen.internal.audioConfig` member of `voiceConfig`."""

    format: OptionalText = None
    sampleRate: OptionalNumber = None
    channels: OptionalNumber = None


class SpeechInternal(Settings):
    """The `speechGen.internal` member of `voiceConfig`."""

    inputTextStream: Open = None
    audioConfig: AudioFormat | None = None
    emitOnComplete: OptionalFlag = None


class SpeechGeneration(Settings):
    """The `speechGen` member of `voiceConfig`: text to speech."""

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


class CallConfig(Settings):
    """The `config` member of `voiceConfig`."""

    recordAudio: OptionalFlag = None
    backgroundNoise: OptionalText = None
    enableWebCalling: OptionalFlag = None
    firstInputChunkUNIXMs: OptionalNumber = None
    firstOutputChunkUNIXMs: OptionalNumber = None


class VoiceConfig(Settings):
    """An agent's `voiceConfig` member."""

    transcriber: Transcriber | None = None
    speechGen: SpeechGeneration | None = None
    config: CallConfig | None = None
