"""The start of the history's coverage: from this time on, the history of a stage contains every change.

A stage can switch the history off, delete its table, and switch it on again. A record that was written in between has
an author, but its version is missing. So the author of a record does not prove that its version is kept.
"""

from pynamodb.attributes import NumberAttribute, UnicodeAttribute

from chalicelib import storage

KEY = "coverage"  # differs from every record's key, which has three parts
_known: dict[str, int] = {}


class CoverageRow(storage.Row):
    """The time of the first change that the history has kept, in Unix milliseconds. A stage has one row."""

    class Meta:
        table_name = storage.table("history")

    lifecycle = storage.Lifecycle(
        "coverage", "coverage", owner="stage", export="no: belongs to this stage", erasure="no: contains only a time"
    )
    record = UnicodeAttribute(hash_key=True)
    change = UnicodeAttribute(range_key=True)
    start = NumberAttribute()


def start(milliseconds: int) -> int:
    """Return the start of the coverage. The first change that is kept, at `milliseconds`, is the start.

    A process reads it once. A stream keeps the changes of the 24 hours before its first read, so all later changes are
    covered.
    """
    if KEY not in _known:
        _known[KEY] = int((_find() or _begin(milliseconds)).start)
    return _known[KEY]


def clear_cache() -> None:
    """Forget the start."""
    _known.clear()


def _begin(milliseconds: int) -> CoverageRow:
    row = CoverageRow(KEY, KEY, start=milliseconds)
    try:
        with storage.unit_of_work():
            storage.put(row, CoverageRow.record.does_not_exist())
    except storage.ConditionFailed:
        return _find() or row  # another process has stored the start
    return row


def _find() -> CoverageRow | None:
    return storage.find(CoverageRow, KEY, KEY)
