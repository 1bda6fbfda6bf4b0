"""The command that counts the tallies of conversations, and the hours of reports, again."""

from collections.abc import Iterator

import click

from chalicelib import clock, storage
from chalicelib.agents import store as agents
from chalicelib.analytics import counts
from chalicelib.conversations import listing
from chalicelib.workspaces import store as workspaces
from infra.cams import options

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

    Needed after a restore without the tallies, or if `page` of a list leads to the wrong place although nothing has
    changed for two minutes. Reads the index of every conversation. Can be interrupted and repeated at any time.
    """
    if agent_id and not workspace_id:
        raise click.UsageError("--agent needs --workspace.")
    asked = [(workspace_id, agent_id)] if workspace_id and agent_id else list(_agents(workspace_id))
    counted = counted_hours = 0
    with click.progressbar(asked, label="Agents") as bar:
        for workspace, agent in bar:
            quarters = listing.list_quarters(workspace, agent)
            for quarter in quarters:
                listing.recount(workspace, agent, quarter)
            hours = counts.recountable(workspace, agent)
            for hour in hours:
                counts.recount(storage.key(workspace, agent), hour, clock.seconds())
            counted, counted_hours = counted + len(quarters), counted_hours + len(hours)
    number = sum(agent != counts.NO_AGENT for _, agent in asked)
    click.echo(f"Counted {counted:,} quarter hours, and {counted_hours:,} hours of reports, of {number:,} agents.")


def _agents(workspace_id: str | None) -> Iterator[tuple[str, str]]:
    for workspace in [workspace_id] if workspace_id else [row.workspace for row in workspaces.list_all()]:
        after = None
        while rows := [*agents.list_entries(workspace, after, _AGENTS)]:
            yield from ((workspace, row.agent_id) for row in rows)
            after = rows[-1].agent_id
        yield workspace, counts.NO_AGENT
