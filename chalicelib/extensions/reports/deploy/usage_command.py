"""The command that shows each workspace's usage and the cost of its requests."""

import os
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import click

from chalicelib import clock
from chalicelib.extensions.reports import counts, hours, recent_counts
from chalicelib.extensions.reports.deploy import request_lines
from chalicelib.extensions.reports.usage import DAY_SECONDS, NAMES
from chalicelib.http import files
from chalicelib.workspaces import store as workspaces
from infra.operator import options, prices, records
from infra.operator.output import Record, print_list


@click.command()
@click.option(
    "--last",
    type=options.Duration(),
    default="29d",
    show_default=True,
    help="The period until now.",
)
@click.option(
    "--workspace", "workspace_id", metavar="WORKSPACE_ID", callback=options.optional_text, help="Only this workspace."
)
@click.option(
    "--log",
    "logs",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="Read request lines from this file instead of CloudWatch. A local run writes such a file.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@options.as_json
def usage(last: int, workspace_id: str | None, logs: tuple[Path, ...], as_csv: bool, as_json: bool) -> None:
    """Show each workspace's usage and its cost.

    Counts and requests cover whole UTC days. The cost is the list price of the requests: the gateway, the function, its
    log and the database. Webhooks, storage and traffic are not included.
    """
    end = clock.seconds() + 1
    start = (end - last) // DAY_SECONDS * DAY_SECONDS
    logs = logs or _local_logs()
    sums = request_lines.sum_files(logs, start, end) if logs else _sum_stage(workspace_id, start, end)
    if workspace_id and workspace_id not in sums:
        workspaces.read(workspace_id)  # deleted workspaces appear only in the log
    names = {workspace_id} if workspace_id else {row.workspace for row in workspaces.list_all()} | sums.keys()
    with click.progressbar(sorted(names), label="Workspaces", file=sys.stderr) as bar:
        usages = [_record(name, start, end, sums.get(name, Counter())) for name in bar]
    if as_csv:
        _print_csv(usages)
    else:
        print_list(usages, as_json)


def _local_logs() -> tuple[Path, ...]:
    """Return the local run's request log if this environment is a local run, whose emulator has no CloudWatch."""
    path = os.environ.get("CAMS_REQUEST_LOG")
    if not path or not os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://127.0.0.1:"):
        return ()
    if not Path(path).exists():
        raise click.ClickException(f"{path} does not exist: start `make run`, or choose a file with --log.")
    click.echo(f"Requests of {path}:", err=True)
    return (Path(path),)


def _sum_stage(workspace_id: str | None, start: int, end: int) -> request_lines.Sums:
    log_start = end - request_lines.KEPT_DAYS * DAY_SECONDS
    if start < log_start:
        days, since = request_lines.KEPT_DAYS, clock.iso(log_start)
        click.echo(f"The log keeps requests for {days} days, so requests before {since} are not counted.", err=True)
    return request_lines.sum_stage(workspace_id, start, end)


def _record(workspace_id: str, start: int, end: int, sums: Counter[str]) -> Record:
    calls, requests, reads, writes, milliseconds = (
        sums[name] for name in (request_lines.CALLS, *request_lines.MEMBERS)
    )
    dollars = prices.requests(calls, milliseconds / 1000) + prices.units(reads, writes)
    return {
        "workspace_id": workspace_id,
        **_counts(workspace_id, start, end),
        "requests": int(calls),
        "database_requests": int(requests),
        "read_units": round(reads, 1),
        "write_units": round(writes, 1),
        "milliseconds": int(milliseconds),
        "dollars": f"{dollars:.6f}",
    }


def _counts(workspace_id: str, start: int, end: int) -> dict[str, int]:
    total = [0] * len(hours.NAMES)
    owners = [*records.list_agents(workspace_id), counts.NO_AGENT]
    for first in range(0, len(owners), recent_counts.MAX_AGENTS):
        batch = owners[first : first + recent_counts.MAX_AGENTS]
        recent = recent_counts.read(workspace_id, batch, start, end)
        for owner in batch:
            for hour in recent.read(owner, start, end, None):
                hours.add(total, hour.counts)
    return {name: total[hours.NAMES.index(name)] for name in NAMES}


def _print_csv(usages: list[Record]) -> None:
    if usages:
        rows: list[Iterable[object]] = [usages[0].keys(), *(record.values() for record in usages)]
        click.echo("".join(map(files.csv_line, rows)), nl=False)
