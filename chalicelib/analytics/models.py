"""Wire models of analytics records (§2.8)."""

from typing import Literal

from typing_extensions import TypeAliasType

from chalicelib.http.wire import OptionalNumber, OptionalText, Origin, Wire

AnalyticsKind = TypeAliasType("AnalyticsKind", Literal["load", "convo"])


class AnalyticsRecord(Wire):
    """A page load (`load`) or the metadata of a conversation (`convo`)."""

    record: AnalyticsKind
    userID: OptionalText = None
    ipAddress: OptionalText = None
    countryCode: OptionalText = None
    langCode: OptionalText = None
    browser: OptionalText = None
    platform: OptionalText = None
    origin: Origin | None = None
    ts: OptionalNumber = None
    interactionsNum: OptionalNumber = None
    firstMessageTS: OptionalNumber = None
    lastMessageTS: OptionalNumber = None
