"""Wire models for analytics records (§2.8)."""

from typing import Literal

from typing_extensions import TypeAliasType

from chalicelib.http.wire import OptionalNumber, OptionalText, Origin, WireModel

AnalyticsKind = TypeAliasType("AnalyticsKind", Literal["load", "convo"])


class AnalyticsRecord(WireModel):
    """A page load (`load`) or a conversation's metadata (`convo`)."""

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
