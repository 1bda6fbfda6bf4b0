"""The command that adds leads from an earlier version to the workspace's lead index."""

import click

from chalicelib import storage
from chalicelib.leads import store
from chalicelib.workspaces import store as workspaces
from infra.operator import options, records


@click.group()
def leads() -> None:
    """Index the leads of each workspace."""


@leads.command("index")
@click.option("--workspace", "workspace_id", metavar="WORKSPACE_ID", callback=options.optional_text, help="Only this.")
def index(workspace_id: str | None) -> None:
    """Index leads that an earlier version stored.

    Run this command once, after deploying the first version with the index `by_capture`. The command reads all leads,
    and can be interrupted and repeated at any time.
    """
    indexed = 0
    for workspace in [workspace_id] if workspace_id else [row.workspace for row in workspaces.list_all()]:
        for agent_id in records.list_agents(workspace):
            for row in records.find_rows("lead", workspace, agent_id):
                if row.captured is None:
                    indexed += _index(row)
    click.echo(f"Indexed {indexed:,} leads.")


def _index(row: store.LeadRow) -> bool:
    """Return whether the lead still exists."""
    try:
        with storage.unit_of_work():
            store.index(row)
    except storage.ConditionFailed:
        return False
    return True
