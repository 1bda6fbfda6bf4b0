"""The wire models of the reports and the usage."""

from pydantic import Field

from chalicelib.http.wire import Number, WireModel, omitted


class DayOfUsage(WireModel):
    """The usage of a day of UTC, which begins at `from`; without `from`, of the whole period."""

    from_: Number = omitted(alias="from")
    conversations: Number
    messages: Number
    interactions: Number
    deliveries: Number
    leads: Number


class Usage(WireModel):
    """The usage of an agent on each day with counts. Without `agentId`, the counts that belong to no agent."""

    agentId: str = omitted()
    days: list[DayOfUsage]
    totals: DayOfUsage


class Counts(WireModel):
    """The counts of a period that begins at `from`. `averageSeconds` is absent without conversations."""

    from_: Number = Field(alias="from")
    loads: Number
    newVisitors: Number
    conversations: Number
    messages: Number
    interactions: Number
    handoffs: Number
    leads: Number
    averageSeconds: Number = omitted()


class CountsGroup(WireModel):
    """The counts of one value of a dimension."""

    value: str
    series: list[Counts]
    totals: Counts
    previous: Counts


class Report(WireModel):
    """The counts of a period by interval, their totals, and the totals of the period before."""

    series: list[Counts]
    totals: Counts
    previous: Counts
    groups: list[CountsGroup] = omitted()
