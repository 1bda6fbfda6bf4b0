"""Tallies: how many of an agent's conversations were created in a period and still exist.

Each month has a row with a tally for each day, and each day has a row with a tally for each quarter hour. A tally is
recomputed from the index and written as an absolute number, never incremented. Therefore, repeated and reordered
recounts are harmless, and a recount corrects any error. A row whose tallies are all 0 is deleted.
"""

import json
from collections.abc import Callable, Sequence

from pynamodb.attributes import UnicodeAttribute

from chalicelib import storage
from chalicelib.conversations.page_position import QUARTERS, Quarter

_MONTH, _DAY = "month", "day"
_DAYS = 31


class TallyRow(storage.VersionedRow):
    """The tallies for a month by day, or for a day by quarter hour, as a JSON list of numbers."""

    class Meta:
        table_name = storage.table("tallies")

    lifecycle = storage.Lifecycle(
        "{workspace}#{agent}",
        "month#{month} or day#{day}",
        owner="agent",
        export="no: counted again",
        erasure="no: contains only numbers",
    )
    agent = UnicodeAttribute(hash_key=True)
    period = UnicodeAttribute(range_key=True)
    counts = UnicodeAttribute()

    def tallies(self) -> list[int]:
        """Return the tallies, oldest first."""
        counts: list[int] = json.loads(self.counts)
        return counts


def list_months(workspace_id: str, agent_id: str) -> list[tuple[str, list[int]]]:
    """Return an agent's months, each with its tallies by day, newest first. This costs one request."""
    rows = storage.query(
        TallyRow,
        storage.join_key(workspace_id, agent_id),
        TallyRow.period.startswith(_period(_MONTH, "")),
        newest_first=True,
    )
    return [(storage.split_key(row.period)[1], row.tallies()) for row in rows]


def day_key(workspace_id: str, agent_id: str, day: str) -> storage.Key:
    """Return the key of a day's tallies for an eventually consistent read in `storage.find_many`."""
    return storage.Key(TallyRow, storage.join_key(workspace_id, agent_id), _period(_DAY, day), consistent=False)


def recount(workspace_id: str, agent_id: str, quarter: Quarter, count: Callable[[], int]) -> None:
    """Set the tallies for a quarter hour and its day, using `count`. This costs two requests in addition to `count`.

    Both rows are read before the count, and committed together with optimistic locking, even if only one has changed.
    Therefore, a recount is retried if another recount commits first.
    """

    def run() -> None:
        with storage.unit_of_work():
            month, day = _rows(storage.join_key(workspace_id, agent_id), quarter)
            quarters = day.tallies()
            quarters[quarter.number] = count()
            days = month.tallies()
            days[quarter.day_number] = sum(quarters)
            if (quarters, days) != (day.tallies(), month.tallies()):
                _stage(day, quarters)
                _stage(month, days)

    storage.retry_on_conflict(run)


def list_quarters(workspace_id: str, agent_id: str) -> list[Quarter]:
    """Return an agent's quarter hours whose tally is above 0. This costs one request per MB."""
    days = storage.query(
        TallyRow, storage.join_key(workspace_id, agent_id), TallyRow.period.startswith(_period(_DAY, ""))
    )
    return [
        Quarter(storage.split_key(row.period)[1], number)
        for row in days
        for number, tally in enumerate(row.tallies())
        if tally
    ]


def list_by_creation(workspace_id: str, agent_id: str, limit: int) -> list[TallyRow]:
    """Return up to `limit` of an agent's tally rows for the cascading delete."""
    return storage.query(TallyRow, storage.join_key(workspace_id, agent_id), limit=limit)


def delete(row: TallyRow) -> None:
    """Stage the deletion of a row. The commit fails if the row has changed since it was read."""
    storage.delete(row)


def _rows(agent: str, quarter: Quarter) -> tuple[TallyRow, TallyRow]:
    """Return the month's row and the day's row. Missing rows are created in memory but not stored."""
    periods = _period(_MONTH, quarter.month), _period(_DAY, quarter.day)
    month, day = storage.find_many([storage.Key(TallyRow, agent, period) for period in periods])
    return (
        month or TallyRow(agent, periods[0], counts=json.dumps([0] * _DAYS)),
        day or TallyRow(agent, periods[1], counts=json.dumps([0] * QUARTERS)),
    )


def _stage(row: TallyRow, tallies: Sequence[int]) -> None:
    if any(tallies):
        row.counts = json.dumps(tallies)
        storage.put(row)
    elif row.version_tag is not None:
        storage.delete(row)
    else:
        storage.require(storage.Key(TallyRow, row.agent, row.period), TallyRow.agent.does_not_exist())


def _period(kind: str, text: str) -> str:
    return storage.join_key(kind, text)
