"""The journal: an append-only file of the engine's writes, one checksummed JSON record per line.

Responsible for the file alone: appending so that a killed process loses nothing, reading back, dropping a
torn last line, and replacing the whole file in one step. What the records mean is the caller's business
(`emulator`).

A record is handed to the operating system before `append` returns, so it survives `kill -9` of the process.
It is not forced to the disk: a power failure may cost the last records, which a development machine can
afford and a `fsync` for each write (milliseconds) would make everybody pay for. The file as a whole is forced
when it is replaced.
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
    """The file holds something that no interrupted write explains; guessing would lose acknowledged writes."""


def read_records(path: Path) -> Iterator[tuple[Record, int]]:
    """Every record with the offset at which it ends; stops in front of a torn last line."""
    if not path.exists():
        return
    with path.open("rb") as file:
        end = 0
        for line in file:
            record = _decode(line)
            if record is None:
                # Only the last line can be torn: each is one write, and the process died in it.
                if file.read(1):
                    raise JournalError(f"{path} is damaged at byte {end}; move it away to start with empty tables.")
                return
            end += len(line)
            yield record, end


def open_for_append(path: Path, end: int) -> int:
    """A descriptor that appends after `end`, the last whole record; whatever was torn behind it is cut off."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    os.ftruncate(descriptor, end)
    return descriptor


def append(descriptor: int, record: Record) -> int:
    """Hands one record to the operating system and returns its length. An OSError leaves a torn last line at worst."""
    line = _encode(record)
    left = memoryview(line)
    while left:
        left = left[os.write(descriptor, left) :]
    return len(line)


def replace(path: Path, records: Iterable[Record]) -> int:
    """Replaces the file by these records and returns its length; a crash leaves the old file or the new one."""
    fresh = path.with_name(path.name + ".new")
    with fresh.open("wb") as file:
        os.fchmod(file.fileno(), 0o600)
        length = sum(file.write(_encode(record)) for record in records)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
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
