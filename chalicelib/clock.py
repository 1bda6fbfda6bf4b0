"""The only source of time, so that a test can hold it still."""

import time
from datetime import datetime, timezone


def milliseconds() -> int:
    """Milliseconds since the Unix epoch."""
    return time.time_ns() // 1_000_000


def seconds() -> int:
    """Seconds since the Unix epoch, the unit of every time in a record."""
    return milliseconds() // 1000


def monotonic() -> float:
    """Seconds of a clock that never goes back; only differences mean something."""
    return time.monotonic()


def to_datetime(unix_seconds: int) -> datetime:
    """`unix_seconds` as the kind of value that PynamoDB's TTL attribute takes."""
    return datetime.fromtimestamp(unix_seconds, timezone.utc)


def iso(unix_seconds: int) -> str:
    """`unix_seconds` in ISO 8601, as tools and created conversations carry it (§2.2, §2.11)."""
    return to_datetime(unix_seconds).strftime("%Y-%m-%dT%H:%M:%SZ")


def sleep(duration: float) -> None:
    """Pause for `duration` seconds; here so that tests of repeated attempts need not wait."""
    time.sleep(duration)
