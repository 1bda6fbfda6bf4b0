"""The time after which a stage's history contains every change.

A stage can disable the history, delete its table, and enable it again. A record that was written in between has an
author, but its version is missing. Therefore, a record's author does not prove that its version was stored.
"""

from pynamodb.attributes import NumberAttribute, UnicodeAttribute

from chalicelib import storage

KEY = "coverage"  # cannot equal a record's key, which has three parts
_known: dict[str, int] = {}


class CoverageRow(storage.Row):
    """The time of the first change in the history, in Unix milliseconds. Each stage has one such row."""

    class Meta:
        table_name = storage.table("history")

    lifecycle = storage.Lifecycle(
        "coverage", "coverage", owner="stage", export="no: belongs to this stage", erasure="no: contains only a time"
    )
    record = UnicodeAttribute(hash_key=True)
    change = UnicodeAttribute(range_key=True)
    start = NumberAttribute()


def start(milliseconds: int) -> int:
    """Return the time from which the history is complete. If none is stored yet, store `milliseconds`.

    Each process reads the time once. When a stream is first read, it still contains the changes of the last 24 hours,
    so all changes after the first one are covered.
    """
    if KEY not in _known:
        _known[KEY] = int((_find() or _begin(milliseconds)).start)
    return _known[KEY]


def clear_cache() -> None:
    """Forget the cached time."""
    _known.clear()


def _begin(milliseconds: int) -> CoverageRow:
    row = CoverageRow(KEY, KEY, start=milliseconds)
    try:
        with storage.unit_of_work():
            storage.put(row, CoverageRow.record.does_not_exist())
    except storage.ConditionFailed:
        return _find() or row  # another process has stored the time
    return row


def _find() -> CoverageRow | None:
    return storage.find(CoverageRow, KEY, KEY)
