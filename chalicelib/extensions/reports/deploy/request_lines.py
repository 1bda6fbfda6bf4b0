"""What the requests of each workspace took, from the lines that `telemetry.log_request` writes for them.

In the cloud, CloudWatch Logs Insights adds the lines up; it charges for the bytes of the period that it reads. A local
run keeps its lines in a file.
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
"""Sums of numbers by name, by workspace."""

# Of the log group in the template.
KEPT_DAYS = 30
# Logs Insights answers no more, and does not say that there would be.
MAX_WORKSPACES = 10_000
_FILTER = "ispresent(workspace) and ispresent(route) and ispresent(durationMs)"
_SUMS = (
    f"stats count(*) as {CALLS}, "
    + ", ".join(f"sum({name}) as {name}" for name in MEMBERS)
    + f" by workspace | limit {MAX_WORKSPACES}"
)
_MOST = 1e15
_POLL_SECONDS = 1.0
_RUNNING = ("Scheduled", "Running")


def of_stage(workspace_id: str | None, start: int, end: int) -> Sums:
    """The sums of the stage's requests from `start` on and before `end`, in Unix seconds, by Logs Insights.

    Of one workspace, or of all; then there may be too many of them: raises ClickException.
    """
    logs = storage.sdk_client("logs")
    group = f"/aws/lambda/{settings.table_prefix().removesuffix('-')}"
    query = f"filter {_FILTER}{_only(workspace_id)} | {_SUMS}"
    begun = logs.start_query(logGroupName=group, startTime=start, endTime=end - 1, queryString=query)
    while (answer := logs.get_query_results(queryId=begun["queryId"]))["status"] in _RUNNING:
        clock.sleep(_POLL_SECONDS)
    if answer["status"] != "Complete":
        raise click.ClickException(f"The query of the log group {group} ended as {answer['status']}.")
    if len(answer["results"]) >= MAX_WORKSPACES:
        raise click.ClickException(
            f"Logs Insights adds up at most {MAX_WORKSPACES:,} workspaces: name one with --workspace."
        )
    rows = [{field["field"]: field["value"] for field in fields} for fields in answer["results"]]
    return {row["workspace"]: Counter({name: float(row[name]) for name in (CALLS, *MEMBERS)}) for row in rows}


def of_files(paths: Iterable[Path], start: int, end: int) -> Sums:
    """The sums of the request lines in files. Other lines are ignored, and damaged ones."""
    sums: Sums = defaultdict(Counter)
    for path in paths:
        with path.open(encoding="utf-8", errors="replace") as file:
            for line in filter(None, map(_parsed, file)):
                if start <= line.seconds < end:
                    sums[line.workspace] += line.numbers
    return dict(sums)


class _Line(NamedTuple):
    workspace: str
    seconds: float
    numbers: Counter[str]


def _parsed(text: str) -> _Line | None:
    """The line of a request with a workspace, otherwise None: a request without a valid credential has none."""
    try:
        line = json.loads(text)
        workspace, seconds = line["workspace"], line["_aws"]["Timestamp"] / 1000
        numbers = {name: line[name] for name in MEMBERS}
        is_request = "route" in line and isinstance(workspace, str)
    except (ValueError, LookupError, TypeError, OverflowError, RecursionError):
        return None
    is_whole = is_request and all(map(_is_amount, (seconds, *numbers.values())))
    return _Line(workspace, seconds, Counter({CALLS: 1, **numbers})) if is_whole else None


def _is_amount(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= _MOST


def _only(workspace_id: str | None) -> str:
    if workspace_id is None:
        return ""
    if not ids.IDENTIFIER.fullmatch(workspace_id):
        raise click.BadParameter("must be the id of a workspace.", param_hint="--workspace")
    return f' and workspace = "{workspace_id}"'
