"""The wire models for reports and usage."""

from pydantic import Field

from chalicelib.http.wire import Number, WireModel, omitted


class DayOfUsage(WireModel):
    """The usage on the UTC day that starts at `from`, or in the whole period if `from` is absent."""

    from_: Number = omitted(alias="from")
    conversations: Number
    messages: Number
    interactions: Number
    deliveries: Number
    leads: Number


class Usage(WireModel):
    """An agent's usage on each day that has counts.

    The entry without `agentId` contains counts that belong to no agent.
    """

    agentId: str = omitted()
    days: list[DayOfUsage]
    totals: DayOfUsage


class Counts(WireModel):
    """The counts for a period that starts at `from`. `averageSeconds` is absent if there are no conversations."""

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
    """The counts for one value of a dimension."""

    value: str
    series: list[Counts]
    totals: Counts
    previous: Counts


class Report(WireModel):
    """A period's counts by interval, their totals, and the previous period's totals."""

    series: list[Counts]
    totals: Counts
    previous: Counts
    groups: list[CountsGroup] = omitted()
    countedUntil: Number
