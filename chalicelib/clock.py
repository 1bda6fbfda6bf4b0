"""The only source of time, which tests patch, and the time zones."""

import re
import time
from contextlib import suppress
from datetime import datetime, timezone, tzinfo
from typing import Any

# The form of an IANA name. The files with the other names are not time zones.
_ZONE = r"(?=.{1,64}$)(?!Factory|localtime|posix|right/)[A-Za-z0-9_+-]+(/[A-Za-z0-9_+-]+){0,2}"


def milliseconds() -> int:
    """Return milliseconds since the Unix epoch."""
    return time.time_ns() // 1_000_000


def seconds() -> int:
    """Return seconds since the Unix epoch, the unit of time in records."""
    return milliseconds() // 1000


def monotonic() -> float:
    """Return seconds from a clock that never runs backwards. Only the difference between two readings is meaningful."""
    return time.monotonic()


def to_datetime(unix_seconds: int) -> datetime:
    """Return `unix_seconds` as a UTC datetime, the type of PynamoDB's TTL attributes."""
    return datetime.fromtimestamp(unix_seconds, timezone.utc)


def iso(unix_seconds: int) -> str:
    """Return `unix_seconds` in ISO 8601 and UTC, the format that tools and created conversations use (§2.2, §2.11)."""
    return to_datetime(unix_seconds).strftime("%Y-%m-%dT%H:%M:%SZ")


def iso_or_none(value: Any, units: int = 1) -> str | None:
    """Return a stored time in ISO 8601, or None if the value is not a time. There are `units` per second."""
    try:
        return iso(int(value // units))
    except (TypeError, ValueError, OverflowError, OSError):  # infinity, or a year after 9999
        return None


def start_of_day(date: str) -> int:
    """Return the first Unix second of a date like `2026-11-22`, in UTC."""
    return int(datetime.fromisoformat(f"{date}T00:00:00+00:00").timestamp())


def parse_iso(text: str) -> int:
    """Return the Unix seconds of a time in ISO 8601, in UTC unless it has an offset. Raise ValueError."""
    moment = datetime.fromisoformat(f"{text[:-1]}+00:00" if text.endswith("Z") else text)
    return int((moment if moment.tzinfo else moment.replace(tzinfo=timezone.utc)).timestamp())


def time_zone(name: str) -> tzinfo:
    """Return the time zone with an IANA name such as `Europe/Amsterdam`. Otherwise, raise ValueError with the rule."""
    from zoneinfo import ZoneInfo  # few requests need it

    if re.fullmatch(_ZONE, name):
        with suppress(KeyError, ValueError, OSError):
            return ZoneInfo(name)
    raise ValueError("must be the name of a time zone, such as Europe/Amsterdam")


def sleep(duration: float) -> None:
    """Pause for `duration` seconds. Tests of retries patch this function so that they do not wait."""
    time.sleep(duration)
