"""Request totals by workspace, from the log lines that `telemetry.log_request` writes.

In AWS, CloudWatch Logs Insights computes the sums, and charges for the bytes that it scans. A local run writes its
lines to a file.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import click

from chalicelib import clock, ids, settings, storage

MEMBERS = ("requests", "readUnits", "writeUnits", "durationMs")
CALLS = "calls"
Sums = dict[str, Counter[str]]
"""Sums by workspace and number name."""

# The log group's retention in the template.
KEPT_DAYS = 30
# The maximum number of results from Logs Insights, which omits the rest without a warning.
MAX_WORKSPACES = 10_000
_FILTER = "ispresent(workspace) and ispresent(route) and ispresent(durationMs)"
_SUMS = (
    f"stats count(*) as {CALLS}, "
    + ", ".join(f"sum({name}) as {name}" for name in MEMBERS)
    + f" by workspace | limit {MAX_WORKSPACES}"
)
_MAX_AMOUNT = 1e15
_POLL_SECONDS = 1.0
_RUNNING = ("Scheduled", "Running")


def sum_stage(workspace_id: str | None, start: int, end: int) -> Sums:
    """Return the sums of the stage's requests from `start` until `end` (exclusive), in Unix seconds.

    `workspace_id` restricts the sums to one workspace. Raise ClickException if there are too many workspaces.
    """
    logs = storage.sdk_client("logs")
    group = f"/aws/lambda/{settings.table_prefix().removesuffix('-')}"
    query = f"filter {_FILTER}{_workspace_filter(workspace_id)} | {_SUMS}"
    query_id = logs.start_query(logGroupName=group, startTime=start, endTime=end - 1, queryString=query)["queryId"]
    while (results := logs.get_query_results(queryId=query_id))["status"] in _RUNNING:
        clock.sleep(_POLL_SECONDS)
    if results["status"] != "Complete":
        raise click.ClickException(f"The query on the log group {group} ended with the status {results['status']}.")
    if len(results["results"]) >= MAX_WORKSPACES:
        raise click.ClickException(
            f"Logs Insights returns at most {MAX_WORKSPACES:,} workspaces: choose one with --workspace."
        )
    rows = [{field["field"]: field["value"] for field in fields} for fields in results["results"]]
    return {row["workspace"]: Counter({name: float(row[name]) for name in (CALLS, *MEMBERS)}) for row in rows}


def sum_files(paths: Iterable[Path], start: int, end: int) -> Sums:
    """Return the sums of the request lines in files. Ignore other lines and corrupt lines."""
    sums: Sums = defaultdict(Counter)
    for path in paths:
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in filter(None, map(_parse, file)):
                if start <= line.seconds < end:
                    sums[line.workspace] += line.numbers
    return dict(sums)


class _RequestLine(NamedTuple):
    workspace: str
    seconds: float
    numbers: Counter[str]


def _parse(text: str) -> _RequestLine | None:
    """Return a parsed request line, or None if it has no workspace, for example because the credential was invalid."""
    try:
        line = json.loads(text)
        workspace, seconds = line["workspace"], line["_aws"]["Timestamp"] / 1000
        numbers = {name: line[name] for name in MEMBERS}
        is_request = "route" in line and isinstance(workspace, str)
    except (ValueError, LookupError, TypeError, OverflowError, RecursionError):
        return None
    is_complete = is_request and all(map(_is_amount, (seconds, *numbers.values())))
    return _RequestLine(workspace, seconds, Counter({CALLS: 1, **numbers})) if is_complete else None


def _is_amount(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= _MAX_AMOUNT


def _workspace_filter(workspace_id: str | None) -> str:
    if workspace_id is None:
        return ""
    if not ids.IDENTIFIER.fullmatch(workspace_id):
        raise click.BadParameter("must be the id of a workspace.", param_hint="--workspace")
    return f' and workspace = "{workspace_id}"'
