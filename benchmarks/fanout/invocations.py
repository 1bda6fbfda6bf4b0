"""Invocations of the product's functions. It loads nothing that a function does not load in the cloud."""

import time
from pathlib import Path
from typing import Any

from chalicelib import errors, maintenance
from chalicelib.webhooks import functions


def invoke(name: str, records: list[dict[str, Any]]) -> tuple[float, list[str]]:
    """Invoke a function with a batch. Returns the seconds that it took, and the ids of the messages that failed.

    Raises KeyError if a batch of a stream fails.
    """
    started = time.monotonic()
    try:
        returned = getattr(maintenance if name == "maintain" else functions, name)({"Records": records}, None) or {}
        failed = [one["itemIdentifier"] for one in returned.get("batchItemFailures", ())]
    except errors.ApiError:
        failed = [one["messageId"] for one in records]
    return time.monotonic() - started, failed


def peak_memory() -> float:
    """Return the highest resident memory of this process so far, in MB."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM"))
    return int(peak) / 1024
