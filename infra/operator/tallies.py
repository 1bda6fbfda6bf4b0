"""The command that recounts conversation tallies and extensions' counts."""

from collections.abc import Iterator

import click

from chalicelib import extensions, storage
from chalicelib.agents import store as agents
from chalicelib.conversations import listing
from chalicelib.workspaces import store as workspaces
from infra.operator import options

_AGENTS = 100


@click.group()
def tallies() -> None:
    """Count the conversations created in each quarter-hour."""


@tallies.command("recount")
@click.option("--workspace", "workspace_id", metavar="WORKSPACE_ID", callback=options.optional_text, help="Only this.")
@click.option("--agent", "agent_id", metavar="AGENT_ID", callback=options.optional_text, help="Needs --workspace.")
def recount(workspace_id: str | None, agent_id: str | None) -> None:
    """Recount agents' conversations and reports.

    By default, recount all workspaces.

    Skip agents whose records cannot be read, print their ids, and exit with status 1.

    Run this command after a restore without the tallies, or if a list's parameter `page` returns the wrong page
    although nothing has changed for two minutes. The command reads the index entry of every conversation, and can be
    interrupted and repeated at any time.
    """
    if agent_id and not workspace_id:
        raise click.UsageError("--agent needs --workspace.")
    selected = [(workspace_id, agent_id)] if workspace_id and agent_id else list(_agents(workspace_id))
    quarters = others = number = failed = 0
    with click.progressbar(selected, label="Agents") as bar:
        for workspace, agent in bar:
            try:
                of_agent = _recount(workspace, agent)
            except Exception as error:
                if storage.is_outage(error):
                    raise
                failed += 1
                name = f"agent {agent}" if agent else "part that belongs to no agent"
                click.echo(f"Skipped the {name} of workspace {workspace}: {type(error).__name__}.", err=True)
            else:
                quarters, others = quarters + of_agent[0], others + of_agent[1]
                number += bool(agent)
    click.echo(f"Counted {quarters:,} quarter hours, and {others:,} other periods, for {number:,} agents.")
    if failed:
        raise click.ClickException(f"{failed:,} could not be counted, because their records cannot be read.")


def _recount(workspace_id: str, agent_id: str) -> tuple[int, int]:
    """Recount an agent. Return the number of its quarter-hours, and the number of periods that extensions count.

    Without an agent id, recount the records that belong to no agent.
    """
    quarters = listing.list_quarters(workspace_id, agent_id) if agent_id else []
    for quarter in quarters:
        listing.recount(workspace_id, agent_id, quarter)
    return len(quarters), sum(count(workspace_id, agent_id) for count in extensions.hooks("recount"))


def _agents(workspace_id: str | None) -> Iterator[tuple[str, str]]:
    for workspace in [workspace_id] if workspace_id else [row.workspace for row in workspaces.list_all()]:
        after = None
        while rows := [*agents.list_entries(workspace, after, _AGENTS)]:
            yield from ((workspace, row.agent_id) for row in rows)
            after = rows[-1].agent_id
        yield workspace, ""
