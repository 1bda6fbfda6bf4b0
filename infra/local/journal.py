"""The journal: an append-only file of the engine's writes, one checksummed JSON record per line.

This module appends and reads records, drops a torn last line, cuts a damaged file at the damage, and replaces the whole
file atomically. `emulator` defines the content of the records.

`append` returns after write(2), so a record survives `kill -9` of the process. It does not call fsync: a power failure
may lose the last records. For a development machine, that is better than an fsync of milliseconds for each write.
Replacing the file does call fsync.
"""

from __future__ import annotations

import json
import os
import shutil
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

Record = dict[str, Any]
# In bytes: eight digits and a space.
_CHECKSUM = 9


class JournalError(Exception):
    """Damage that no interrupted write explains. Skipping it would lose acknowledged writes."""


def read_records(path: Path) -> Iterator[tuple[Record, int]]:
    """Yield every record with its end offset. Ignores a torn last line; raises JournalError on any other damage.

    The first line is never torn by an interrupted write, because `replace` writes it.
    """
    if not path.exists():
        return
    with path.open("rb") as file:
        end = 0
        for line in file:
            if end and _is_torn(line):
                return
            if not _is_intact(line):
                raise JournalError(f"{path} is damaged at byte {end}.")
            end += len(line)
            yield json.loads(line[_CHECKSUM:]), end


class Damage(NamedTuple):
    """Where a journal is damaged, and how many records and bytes are before and from there on."""

    offset: int
    records_before: int
    records_after: int
    bytes_after: int


def find_damage(path: Path) -> Damage | None:
    """The first damage, None if there is none. A damaged line counts as a record."""
    offset = before = after = 0
    with path.open("rb") as file:
        for line in file:
            if after or not (_is_intact(line) or (offset and _is_torn(line))):
                after += 1
            else:
                offset, before = offset + len(line), before + 1
    return Damage(offset, before, after, path.stat().st_size - offset) if after else None


def cut(path: Path, copy: Path) -> None:
    """Move everything from the damage on to the new file `copy`."""
    damage = find_damage(path)
    if damage is None:
        return
    with path.open("r+b") as file, copy.open("xb") as rest:
        os.fchmod(rest.fileno(), 0o600)
        file.seek(damage.offset)
        shutil.copyfileobj(file, rest)
        rest.flush()
        os.fsync(rest.fileno())
        file.truncate(damage.offset)


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


def _is_torn(line: bytes) -> bool:
    """Whether the line ends without a newline: only the last one can, when a process dies during its write."""
    return not line.endswith(b"\n")


def _is_intact(line: bytes) -> bool:
    return line.endswith(b"\n") and line[:_CHECKSUM] == b"%08x " % zlib.crc32(line[_CHECKSUM:-1])
