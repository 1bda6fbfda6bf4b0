"""The journal: an append-only file of the engine's writes, one checksummed JSON record per line.

This module appends and reads records, drops a torn last line, and replaces the whole file atomically. `emulator`
defines the content of the records.

`append` returns after write(2), so a record survives `kill -9` of the process. It does not call fsync: a power failure
may lose the last records. For a development machine, that is better than an fsync of milliseconds for each write.
Replacing the file does call fsync.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

Record = dict[str, Any]


class JournalError(Exception):
    """Damage that no interrupted write explains. Skipping it would lose acknowledged writes."""


def read_records(path: Path) -> Iterator[tuple[Record, int]]:
    """Yield every record with its end offset. Ignores a torn last line; raises JournalError on any other damage."""
    if not path.exists():
        return
    with path.open("rb") as file:
        end = 0
        for line in file:
            record = _decode(line)
            if record is None:
                # A process that dies during a write can tear only the last line.
                if file.read(1):
                    raise JournalError(f"{path} is damaged at byte {end}; move it away to start with empty tables.")
                return
            end += len(line)
            yield record, end


def open_for_append(path: Path, end: int) -> int:
    """Truncate the file to `end`, the end of the last complete record, and open it for appending."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.ftruncate(descriptor, end)
    return descriptor


def append(descriptor: int, record: Record) -> int:
    """Write one record; returns its length in bytes. An OSError may leave a torn last line."""
    line = _encode(record)
    remaining = memoryview(line)
    while remaining:
        remaining = remaining[os.write(descriptor, remaining) :]
    return len(line)


def replace(path: Path, records: Iterable[Record]) -> int:
    """Replace the file with these records, atomically; returns its length in bytes."""
    new = path.with_name(path.name + ".new")
    with new.open("wb") as file:
        os.fchmod(file.fileno(), 0o600)
        length = sum(file.write(_encode(record)) for record in records)
        file.flush()
        os.fsync(file.fileno())
    new.replace(path)
    return length


def _encode(record: Record) -> bytes:
    text = json.dumps(record, separators=(",", ":")).encode("ascii")
    return b"%08x %s\n" % (zlib.crc32(text), text)


def _decode(line: bytes) -> Record | None:
    checksum, _, text = line[:-1].partition(b" ")
    if line[-1:] != b"\n" or checksum != b"%08x" % zlib.crc32(text):
        return None
    record: Record = json.loads(text)
    return record
