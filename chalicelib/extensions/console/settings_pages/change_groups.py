"""Groups the changes in the audit log by day. Many records that one author creates together are one group."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

from chalicelib.extensions.console.access import acts
from chalicelib.extensions.console.presentation.rendering import Texts
from chalicelib.extensions.console.presentation.template_filters import local_time, seconds_of
from chalicelib.storage import Document

_GROUPED = ("create", "delete")
# A run of fewer changes is listed one by one.
_FEWEST = 3
_NAMES = 3  # the maximum number of records whose names a group shows
_MINUTE = len("2026-11-27T19:01")


class ChangeGroup(NamedTuple):
    """A single change, or at least three records that one author created or deleted within a minute, agents first."""

    changes: Sequence[Document]

    @property
    def kinds(self) -> list[tuple[str, int]]:
        """The kinds of the records, each with its number, agents and then the most frequent first."""
        kinds = Counter(change["resource"].partition("/")[0] for change in self.changes).most_common()
        return sorted(kinds, key=lambda kind: kind[0] != "agents")

    @property
    def names(self) -> list[str]:
        """The names of the first records that have a name."""
        return [change["record"].name for change in self.changes if change["record"]][:_NAMES]

    @property
    def agent(self) -> Document | None:
        """The only agent's change, which includes the changes of the agent's tools and key."""
        of_agents = [change for change in self.changes if _is_agent(change)]
        return of_agents[0] if len(of_agents) == 1 else None


class Day(NamedTuple):
    """A day's groups, newest first, and the time of its newest change in Unix seconds."""

    seconds: int
    groups: list[ChangeGroup]


def by_day(changes: Iterable[Document], t: Texts) -> list[Day]:
    """Return the changes, which are newest first, by day in the time zone of `t`."""
    days = groupby(changes, lambda change: local_time(seconds_of(change["at"]), t).date())
    return [_day([*of_day]) for _, of_day in days]


def _day(changes: list[Document]) -> Day:
    return Day(seconds_of(changes[0]["at"]), [*_groups(changes)])


def _groups(changes: list[Document]) -> Iterator[ChangeGroup]:
    for (operation, *_), run in groupby(changes, _operation_author_and_minute):
        similar = [*run]
        if operation in _GROUPED and len(similar) >= _FEWEST:  # updates differ in their values
            yield ChangeGroup(sorted(similar, key=lambda change: not _is_agent(change)))
        else:
            yield from (ChangeGroup([change]) for change in similar)


def _is_agent(change: Document) -> bool:
    return str(change["resource"]).startswith("agents/")


def _operation_author_and_minute(change: Document) -> tuple[str, str, str]:
    return acts.operation(change), str(change["by"]), change["at"][:_MINUTE]
