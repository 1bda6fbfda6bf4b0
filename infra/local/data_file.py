"""The engine's data file: an SQLite database with one row for each resource, item, stream record and message.

Each write call is one transaction, which is committed before the response is sent. A commit survives `kill -9`, because
the operating system holds the write-ahead log. The log is synced only at checkpoints, so a power failure may lose the
last calls. Deleted content is overwritten.
"""

from __future__ import annotations

import io
import os
import pickle
import sqlite3
import sys
import threading
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

NAME = "engine.sqlite"
# Row kinds that the worker watches.
RECORD, MESSAGE = "record", "message"
_SCHEMA = """
PRAGMA journal_mode = WAL;
PRAGMA synchronous = NORMAL;
PRAGMA secure_delete = ON;
CREATE TABLE IF NOT EXISTS rows (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT, place TEXT, key TEXT, value BLOB,
    UNIQUE (kind, place, key)
);
"""
_REPLACE = "INSERT OR REPLACE INTO rows (kind, place, key, value) VALUES (?, ?, ?, ?)"
_DELETE_RANGE = """
DELETE FROM rows WHERE kind = ?1 AND place = ?2
AND number < ifnull((SELECT number FROM rows WHERE kind = ?1 AND place = ?2 AND key = ?3), 9e18)
"""


class DataFileError(Exception):
    """The data file cannot be read. The message is a sentence for the user."""


class Row(NamedTuple):
    """A row in the data file. The place is the name of a table, queue or store. The value None deletes the row."""

    kind: str
    place: str
    key: str
    value: Any


class Range(NamedTuple):
    """All rows of a kind and place that are older than the row `end`, or all rows if `end` does not exist."""

    kind: str
    place: str
    end: str = ""


class DataFile:
    """The open data file. The process exits if a write fails, because unsaved changes must not be acknowledged."""

    def __init__(self, path: Path) -> None:
        self._path = path
        path.touch(mode=0o600)
        # In autocommit mode: `save` begins and commits its transactions.
        self._connection = sqlite3.connect(path, isolation_level=None)
        with self._report_damage():
            self._connection.executescript(_SCHEMA)

    def values(self) -> dict[str, list[Any]]:
        """Return the values of each kind, ordered by their last change. Raise DataFileError if the file is corrupt."""
        values: dict[str, list[Any]] = defaultdict(list)
        with self._report_damage():
            for kind, value in self._connection.execute("SELECT kind, value FROM rows ORDER BY number"):
                values[kind].append(_PlainData(io.BytesIO(value)).load())
        return values

    @contextmanager
    def _report_damage(self) -> Iterator[None]:
        try:
            yield
        except Exception:  # a corrupt pickle can raise almost any exception
            raise DataFileError(f"{self._path} is corrupt: move it away to start with empty tables.") from None

    def save(self, rows: Iterable[Row], gone: Iterable[Range] = ()) -> None:
        """Delete the ranges, then write and delete rows, in one transaction."""
        ranges, deleted, changed = [*gone], [], []
        for row in rows:
            if row.value is None:
                deleted.append(row[:3])
            else:
                changed.append((*row[:3], pickle.dumps(row.value, protocol=4)))
        if not (ranges or deleted or changed):
            return
        with _exit_on_failure():
            self._connection.execute("BEGIN")
            self._connection.executemany(_DELETE_RANGE, ranges)
            self._connection.executemany("DELETE FROM rows WHERE kind = ? AND place = ? AND key = ?", deleted)
            self._connection.executemany(_REPLACE, changed)
            self._connection.execute("COMMIT")

    def checkpoint(self) -> None:
        """Transfer the write-ahead log to the database, so that neither contains deleted content."""
        with _exit_on_failure():
            self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    def close(self) -> None:
        """Close the file after a checkpoint."""
        self.checkpoint()
        self._connection.close()


@contextmanager
def _exit_on_failure() -> Iterator[None]:
    try:
        yield
    except sqlite3.Error as error:
        print(f"The engine stops: it cannot write to its data file ({error}).", file=sys.stderr, flush=True)
        os._exit(1)


class Watch:
    """A watch that wakes the worker's pollers when the engine has saved a stream record or message for them.

    The engine saves before it responds, so there is nothing to fetch if there is no new row.
    """

    def __init__(self, path: Path) -> None:
        self._connection = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)
        self._subscribers: dict[tuple[str, str], list[threading.Event]] = {}
        (self._last,) = self._connection.execute("SELECT ifnull(max(number), 0) FROM rows").fetchone()

    def subscribe(self, kind: str, place: str) -> threading.Event:
        """Return the event that `look` sets when there is a new row with this kind and place."""
        news = threading.Event()
        self._subscribers.setdefault((kind, place), []).append(news)
        return news

    def look(self) -> None:
        """Set the events of subscribers that have new rows since the last call."""
        query = "SELECT kind, place, max(number) FROM rows WHERE number > ? GROUP BY kind, place"
        for kind, place, number in self._connection.execute(query, (self._last,)).fetchall():
            self._last = max(self._last, number)
            for news in self._subscribers.get((kind, place), ()):
                news.set()


class _PlainData(pickle.Unpickler):
    """An unpickler for plain data only, because a state directory from another person could contain code."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        if (module_name, global_name) in (("collections", "defaultdict"), ("builtins", "dict")):
            return super().find_class(module_name, global_name)
        raise pickle.UnpicklingError(f"{module_name}.{global_name} is not allowed in a data file")
