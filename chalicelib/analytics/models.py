"""Wire models of analytics records (§2.8)."""

from typing import Literal

from pydantic import Field
from typing_extensions import TypeAliasType

from chalicelib.http.wire import Number, OptionalNumber, OptionalText, Origin, Wire, omitted

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


class ConversationAnalytics(Wire):
    """The analytics records of a conversation as they were written, and when the last one was, in Unix seconds."""

    convoID: str
    lastModified: Number
    load: AnalyticsRecord = omitted()
    convo: AnalyticsRecord = omitted()


class DeletedAnalytics(Wire):
    """The number of conversations whose records the request has deleted."""

    deleted: Number


class DayOfUsage(Wire):
    """What was used in a day of UTC, which begins at `from`; without `from`, in the whole period."""

    from_: Number = omitted(alias="from")
    conversations: Number
    messages: Number
    interactions: Number
    deliveries: Number
    leads: Number


class Usage(Wire):
    """The usage of an agent on each day with any. Without `agentId`, of what belongs to no agent."""

    agentId: str = omitted()
    days: list[DayOfUsage]
    totals: DayOfUsage


class Counts(Wire):
    """What happened in a period that begins at `from`. `averageSeconds` is absent without conversations."""

    from_: Number = Field(alias="from")
    loads: Number
    newVisitors: Number
    conversations: Number
    messages: Number
    interactions: Number
    handoffs: Number
    leads: Number
    averageSeconds: Number = omitted()


class CountsGroup(Wire):
    """The counts of one value of a dimension."""

    value: str
    series: list[Counts]
    totals: Counts
    previous: Counts


class Report(Wire):
    """The counts of a period by interval, and as a whole; and those of the period before it."""

    series: list[Counts]
    totals: Counts
    previous: Counts
    groups: list[CountsGroup] = omitted()
