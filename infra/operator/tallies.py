"""The command that counts the tallies of conversations, and the hours of reports, again."""

from collections.abc import Iterator

import click

from chalicelib import clock, storage
from chalicelib.agents import store as agents
from chalicelib.analytics import counts
from chalicelib.conversations import listing
from chalicelib.workspaces import store as workspaces
from infra.operator import options

_AGENTS = 100


@click.group()
def tallies() -> None:
    """Count the conversations of each quarter hour."""


@tallies.command("recount")
@click.option("--workspace", "workspace_id", metavar="WORKSPACE_ID", callback=options.optional_text, help="Only this.")
@click.option("--agent", "agent_id", metavar="AGENT_ID", callback=options.optional_text, help="Needs --workspace.")
def recount(workspace_id: str | None, agent_id: str | None) -> None:
    """Count the conversations and reports of agents again.

    Of all workspaces, of one, or of one agent.

    Skips an agent whose records cannot be read, names it, and ends with status 1.

    Needed after a restore without the tallies, or if `page` of a list leads to the wrong place although nothing has
    changed for two minutes. Reads the index of every conversation. Can be interrupted and repeated at any time.
    """
    if agent_id and not workspace_id:
        raise click.UsageError("--agent needs --workspace.")
    selected = [(workspace_id, agent_id)] if workspace_id and agent_id else list(_agents(workspace_id))
    quarters = hours = number = failed = 0
    with click.progressbar(selected, label="Agents") as bar:
        for workspace, agent in bar:
            try:
                of_agent = _recount(workspace, agent)
            except Exception as error:
                if storage.is_outage(error):
                    raise
                failed += 1
                name = f"agent {agent}" if agent != counts.NO_AGENT else "part that belongs to no agent"
                click.echo(f"Skipped the {name} of workspace {workspace}: {type(error).__name__}.", err=True)
            else:
                quarters, hours = quarters + of_agent[0], hours + of_agent[1]
                number += agent != counts.NO_AGENT
    click.echo(f"Counted {quarters:,} quarter hours, and {hours:,} hours of reports, of {number:,} agents.")
    if failed:
        raise click.ClickException(f"{failed:,} could not be counted; their records cannot be read.")


def _recount(workspace_id: str, agent_id: str) -> tuple[int, int]:
    """Count an agent again; returns its numbers of quarter hours and of hours."""
    quarters = listing.list_quarters(workspace_id, agent_id)
    for quarter in quarters:
        listing.recount(workspace_id, agent_id, quarter)
    hours = counts.recountable(workspace_id, agent_id)
    for hour in hours:
        counts.recount(storage.key(workspace_id, agent_id), hour, clock.seconds())
    return len(quarters), len(hours)


def _agents(workspace_id: str | None) -> Iterator[tuple[str, str]]:
    for workspace in [workspace_id] if workspace_id else [row.workspace for row in workspaces.list_all()]:
        after = None
        while rows := [*agents.list_entries(workspace, after, _AGENTS)]:
            yield from ((workspace, row.agent_id) for row in rows)
            after = rows[-1].agent_id
        yield workspace, counts.NO_AGENT
