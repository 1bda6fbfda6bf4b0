"""The command that shows what each workspace used, and what its requests cost."""

import os
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path

import click

from chalicelib import clock
from chalicelib.extensions.reports import counts, hours
from chalicelib.extensions.reports.deploy import request_lines
from chalicelib.http import files
from chalicelib.workspaces import store as workspaces
from infra.operator import options, prices, records
from infra.operator.output import Record, print_list

_COUNTED = ("conversations", "messages", "interactions", "deliveries", "leads")
_DAY_SECONDS = 24 * 60 * 60


@click.command()
@click.option("--last", type=options.Duration(), default="29d", show_default=True, help="The period until now.")
@click.option("--workspace", "workspace_id", metavar="WORKSPACE_ID", callback=options.optional_text, help="Only this.")
@click.option(
    "--log",
    "logs",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    multiple=True,
    help="Read request lines from this file, not from CloudWatch. A local run has its own.",
)
@click.option("--csv", "as_csv", is_flag=True, help="Print CSV.")
@options.as_json
def usage(last: int, workspace_id: str | None, logs: tuple[Path, ...], as_csv: bool, as_json: bool) -> None:
    """Show what each workspace used, and what its requests cost.

    Counts of conversations and so on are of full days of UTC; requests are those of the same days. The dollars are
    those of requests at list prices: the gateway, the function, its log and the database. Webhooks, storage and
    traffic are not in them.
    """
    end = clock.seconds() + 1
    start = (end - last) // _DAY_SECONDS * _DAY_SECONDS
    logs = logs or _local_logs()
    taken = request_lines.of_files(logs, start, end) if logs else _of_stage(workspace_id, start, end)
    if workspace_id and workspace_id not in taken:
        workspaces.read(workspace_id)  # a deleted one is in the log only
    wanted = [workspace_id] if workspace_id else sorted({row.workspace for row in workspaces.list_all()} | taken.keys())
    with click.progressbar(wanted, label="Workspaces", file=sys.stderr) as bar:
        found = [_record(one, start, end, taken.get(one, Counter())) for one in bar]
    if as_csv:
        _print_csv(found)
    else:
        print_list(found, as_json)


def _local_logs() -> tuple[Path, ...]:
    """The request log of the local run whose environment this is. The engine of a run has no CloudWatch."""
    path = os.environ.get("CAMS_REQUEST_LOG")
    if not path or not os.environ.get("AWS_ENDPOINT_URL", "").startswith("http://127.0.0.1:"):
        return ()
    if not Path(path).exists():
        raise click.ClickException(f"{path} does not exist: start `make run`, or name a file with --log.")
    click.echo(f"Requests of {path}:", err=True)
    return (Path(path),)


def _of_stage(workspace_id: str | None, start: int, end: int) -> request_lines.Sums:
    kept = end - request_lines.KEPT_DAYS * _DAY_SECONDS
    if start < kept:
        days, since = request_lines.KEPT_DAYS, clock.iso(kept)
        click.echo(f"The log keeps requests for {days} days: those before {since} are not counted.", err=True)
    return request_lines.of_stage(workspace_id, start, end)


def _record(workspace_id: str, start: int, end: int, taken: Counter[str]) -> Record:
    calls, requests, reads, writes, milliseconds = (
        taken[name] for name in (request_lines.CALLS, *request_lines.MEMBERS)
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
    for agent_id in (*records.list_agents(workspace_id), counts.NO_AGENT):
        for numbers in counts.read_days(workspace_id, agent_id, start, end).values():
            hours.add(total, numbers)
    return {name: total[hours.NAMES.index(name)] for name in _COUNTED}


def _print_csv(found: list[Record]) -> None:
    if found:
        rows: list[Iterable[object]] = [found[0].keys(), *(one.values() for one in found)]
        click.echo("".join(map(files.csv_line, rows)), nl=False)
