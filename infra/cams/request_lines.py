"""What the requests of each workspace took, from the lines that `telemetry.log_request` writes for them.

In the cloud, CloudWatch Logs Insights adds the lines up; it charges for the bytes of the period that it reads. A local
run keeps its lines in a file.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click

from chalicelib import clock, settings, storage

MEMBERS = ("requests", "readUnits", "writeUnits", "durationMs")
CALLS = "calls"
Sums = dict[str, Counter[str]]
"""Sums of numbers by name, by workspace."""

_QUERY = (
    "filter ispresent(workspace) and ispresent(route) and ispresent(durationMs) | stats count(*) as calls, "
    + ", ".join(f"sum({name}) as {name}" for name in MEMBERS)
    + " by workspace | limit 10000"
)
_POLL_SECONDS = 1.0
_RUNNING = ("Scheduled", "Running")


def of_stage(start: int, end: int) -> Sums:
    """The sums of the stage's requests from `start` on and before `end`, in Unix seconds, by Logs Insights."""
    logs = storage.sdk_client("logs")
    group = f"/aws/lambda/{settings.table_prefix().removesuffix('-')}"
    begun = logs.start_query(logGroupName=group, startTime=start, endTime=end - 1, queryString=_QUERY)
    while (answer := logs.get_query_results(queryId=begun["queryId"]))["status"] in _RUNNING:
        clock.sleep(_POLL_SECONDS)
    if answer["status"] != "Complete":
        raise click.ClickException(f"The query of the log group {group} ended as {answer['status']}.")
    rows = [{field["field"]: field["value"] for field in fields} for fields in answer["results"]]
    return {row["workspace"]: Counter({name: float(row[name]) for name in (CALLS, *MEMBERS)}) for row in rows}


def of_files(paths: Iterable[Path], start: int, end: int) -> Sums:
    """The sums of the request lines in files. Other lines are ignored, also a last one that is not complete."""
    sums: Sums = defaultdict(Counter)
    for path in paths:
        with path.open(encoding="utf-8", errors="replace") as file:
            for text in file:
                line = _parsed(text)
                if line and start <= line["_aws"]["Timestamp"] / 1000 < end:
                    sums[line["workspace"]] += Counter({CALLS: 1, **{name: line[name] for name in MEMBERS}})
    return dict(sums)


def _parsed(text: str) -> dict[str, Any] | None:
    """The line of a request with a workspace, otherwise None: a request without a valid credential has none."""
    try:
        line = json.loads(text)
    except ValueError:
        return None
    is_request = isinstance(line, dict) and {"_aws", "route", "workspace", *MEMBERS} <= line.keys()
    return line if is_request else None
