"""Wire models of analytics records (§2.8)."""

from typing import Literal

from chalicelib.http.wire import OptionalNumber, OptionalText, Wire


class AnalyticsRecord(Wire):
    """A page load (`load`) or the metadata of a conversation (`convo`)."""

    record: Literal["load", "convo"]
    userID: OptionalText = None
    ipAddress: OptionalText = None
    countryCode: OptionalText = None
    langCode: OptionalText = None
    browser: OptionalText = None
    platform: OptionalText = None
    origin: Literal["web-chat", "chatapp", "community", "gb-chat"] | None = None
    ts: OptionalNumber = None
    interactionsNum: OptionalNumber = None
    firstMessageTS: OptionalNumber = None
    lastMessageTS: OptionalNumber = None
