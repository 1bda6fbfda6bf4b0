"""Drops the records of the engine's streams that every function has processed.

A stream keeps its records for 24 hours, and a snapshot of the engine contains them, with the keys and images of deleted
items. Without this module, the data file of a run would have the id of an erased person for a day.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

from infra.deploy.functions import declared_functions


def trim(dynamodb: ModuleType, positions: Path) -> bool:
    """Drop records up to the lowest position of the functions that read a stream.

    `positions` is the worker's file. Returns whether a dropped record was that of a deletion.
    """
    try:
        known = json.loads(positions.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return False
    has_deletion = False
    for (account, region, name), records in [*dynamodb._stream_records.all_items()]:
        arn = dynamodb._tables.get_scoped(account, region, name, {}).get("LatestStreamArn")
        last = _lowest_position(name, f"{arn}", known)
        processed = [one for one in records if int(one["dynamodb"]["SequenceNumber"]) <= last]
        has_deletion |= any(one["eventName"] == "REMOVE" for one in processed)
        if processed:
            del records[: len(processed)]
            trimmed = dynamodb._stream_trimmed.get_scoped(account, region, name, 0)
            dynamodb._stream_trimmed.set_scoped(account, region, name, trimmed + len(processed))
    return has_deletion


def _lowest_position(table: str, arn: str, known: dict[str, str]) -> int:
    """The lowest position of the functions of a table; 0 if a function has none yet."""
    readers = [one.name for one in declared_functions() if one.stream and table.endswith(f"-{one.stream}")]
    positions = [
        max((int(number) for place, number in known.items() if place.startswith(f"{name}/{arn}/")), default=0)
        for name in readers
    ]
    return min(positions, default=0)
