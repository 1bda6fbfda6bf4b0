"""The wire models for reports and usage."""

from typing import Annotated

from pydantic import Field, WithJsonSchema

from chalicelib.http.wire import Number, Open, WireModel, omitted

# `report_query.seconds_in` checks the value.
_Moment = Annotated[Open, WithJsonSchema({"type": ["string", "number"]})]


class UsagePeriod(WireModel):
    """A period from `from` until `to` (exclusive). Times are in ISO 8601 or in Unix seconds."""

    from_: _Moment | None = Field(default=None, alias="from")
    to: _Moment | None = None


class UsageQuery(WireModel):
    """The body of POST /v3/agents/{agent_id}/usage."""

    range: UsagePeriod | None = None


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

    The entry without `agentId` contains counts that belong to no agent. `deletedAt` is the Unix time of a deletion.
    """

    agentId: str = omitted()
    deletedAt: Number = omitted()
    days: list[DayOfUsage]
    totals: DayOfUsage


class Counts(WireModel):
    """The counts for a period that starts at `from`. An average or a time is absent if nothing was counted."""

    from_: Number = Field(alias="from")
    loads: Number
    newVisitors: Number
    conversations: Number
    messages: Number
    interactions: Number
    handoffs: Number
    leads: Number
    firstAnswers: Number
    ends: Number
    averageSeconds: Number = omitted()
    averageFirstAnswerSeconds: Number = omitted()
    averageEndSeconds: Number = omitted()
    firstAnswersWithin1Minute: Number = omitted()
    firstAnswersWithin5Minutes: Number = omitted()
    firstAnswersWithin15Minutes: Number = omitted()
    firstAnswersWithin1Hour: Number = omitted()
    firstAnswersWithin4Hours: Number = omitted()
    firstAnswersWithin1Day: Number = omitted()
    timedFirstAnswers: Number = omitted()


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
