"""The command that shows an agent's report, from the same counts as `GET /v3/agents/{agent_id}/analytics`."""

import json
from itertools import islice
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import click

from chalicelib import clock
from chalicelib.agents import store as agents
from chalicelib.extensions.reports import hours, recent_counts, series
from chalicelib.extensions.reports.recent_counts import RecentCounts
from chalicelib.workspaces import store as workspaces
from infra.operator import options

_DAY_SECONDS = 24 * 60 * 60
_HOURLY_SECONDS = 2 * _DAY_SECONDS
_UNITS = {_DAY_SECONDS: "day", 3_600: "hour", 60: "minute", 1: "second"}


def _zone(context: click.Context, parameter: click.Parameter, value: str) -> ZoneInfo:
    try:
        return ZoneInfo(value)
    except (KeyError, ValueError, OSError) as error:
        raise click.BadParameter("must be the name of a time zone, such as Europe/Amsterdam.") from error


@click.command()
@click.option(
    "--workspace",
    "workspace_id",
    metavar="WORKSPACE_ID",
    callback=options.optional_text,
    help="The workspace; optional if there is only one.",
)
@click.option(
    "--agent", "agent_id", required=True, metavar="AGENT_ID", callback=options.printable_text, help="The agent."
)
@click.option("--last", type=options.Duration(least=3_600), default="30d", show_default=True, help="The period.")
@click.option("--tz", "zone", default="UTC", show_default=True, callback=_zone, help="Where days begin.")
@click.option(
    "--by",
    "dimensions",
    type=click.Choice(hours.DIMENSIONS),
    multiple=True,
    default=("origin", "country"),
    show_default=True,
    help="The dimension for which bars are drawn; may be repeated.",
)
@click.option("--svg", "picture", type=click.Path(dir_okay=False, path_type=Path), help="Write an SVG file instead.")
@options.as_json
def analytics(
    workspace_id: str | None,
    agent_id: str,
    last: int,
    zone: ZoneInfo,
    dimensions: tuple[str, ...],
    picture: Path | None,
    as_json: bool,
) -> None:
    """Draw an agent's report.

    The report shows totals with their change from the previous period, sparklines and bars. Its series is daily, or
    hourly for up to two days. The output is not coloured if it is not a terminal or NO_COLOR is set.
    """
    from chalicelib.extensions.reports.deploy import drawing  # other commands do not import Rich

    workspace_id = workspace_id or _only_workspace()
    agent = agents.read(workspace_id, agent_id)
    period = series.ReportPeriod(*series.widen(clock.seconds() - last, clock.seconds(), hours.SECONDS), zone)
    recent = recent_counts.read(workspace_id, [agent_id], period.before().start, period.end)
    report = _report(recent, agent_id, period, None)
    if not (period.is_exact() and period.before().is_exact()):
        click.echo(series.INEXACT, err=True)
    groups = {name: _report(recent, agent_id, period, name)["groups"] for name in dimensions}
    if as_json:
        click.echo(json.dumps({**report, "groups": groups, "countedUntil": recent.counted_until}, indent=2))
        return
    title = f"{agents.display_name(agent.open()) or agent_id}, the last {_in_words(last)}"
    width = drawing.WIDTH if picture else drawing.width_of_terminal()
    content = drawing.draw(title, report, groups, zone, width)
    if picture is None:
        drawing.show(content)
        return
    try:
        drawing.save(content, picture, f"python -m infra.cams analytics --agent {agent_id}")
    except OSError as error:
        raise click.FileError(str(picture), error.strerror) from error


def _report(recent: RecentCounts, agent_id: str, period: series.ReportPeriod, by: str | None) -> dict[str, Any]:
    """Return the report for a period, or its groups by a dimension."""
    before = period.before()
    interval = "hour" if period.end - period.start <= _HOURLY_SECONDS else "day"
    hourly_counts = [*recent.read(agent_id, before.start, period.end, by)]
    if by is None:
        return series.build(period, before, interval, hourly_counts)
    return {"groups": series.build_groups(period, before, interval, hourly_counts)}


def _only_workspace() -> str:
    workspace_ids = [row.workspace for row in islice(workspaces.iterate_all(), 2)]
    if len(workspace_ids) != 1:
        raise click.UsageError("There is no workspace, or more than one: choose it with --workspace.")
    return workspace_ids[0]


def _in_words(seconds: int) -> str:
    unit = next(length for length in _UNITS if seconds % length == 0)
    count = seconds // unit
    return f"{count} {_UNITS[unit]}{'s' * (count != 1)}"
