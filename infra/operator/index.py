"""The command that adds records from version 1.0 to the indexes of later versions."""

import click

from chalicelib import storage
from chalicelib.conversations import store
from chalicelib.conversations.store import ConversationRow
from chalicelib.leads import store as leads
from chalicelib.workspaces import store as workspaces
from infra.operator import options, records

_PAGE = 100


@click.command()
@click.option("--workspace", "workspace_id", metavar="WORKSPACE_ID", callback=options.optional_text, help="Only this.")
def index(workspace_id: str | None) -> None:
    """Add leads and waiting conversations to new indexes.

    Run this command once, after upgrading a stage from version 1.0, which had no such indexes. The command reads all
    leads and conversations, and can be interrupted and repeated at any time.
    """
    number_of_leads = number_of_conversations = 0
    for workspace in [workspace_id] if workspace_id else [row.workspace for row in workspaces.list_all()]:
        for agent_id in records.list_agents(workspace):
            number_of_leads += _index_leads(workspace, agent_id)
            number_of_conversations += _index_conversations(workspace, agent_id)
    click.echo(f"Indexed {number_of_leads:,} leads and {number_of_conversations:,} waiting conversations.")


def _index_leads(workspace_id: str, agent_id: str) -> int:
    return sum(_index_lead(row) for row in records.find_rows("lead", workspace_id, agent_id) if row.captured is None)


def _index_lead(row: leads.LeadRow) -> bool:
    """Return whether the lead still exists."""
    try:
        with storage.unit_of_work():
            leads.index(row)
    except storage.ConditionFailed:
        return False
    return True


def _index_conversations(workspace_id: str, agent_id: str) -> int:
    number, after = 0, None
    while entries := store.list_by_creation(workspace_id, agent_id, after, _PAGE):
        number += sum(_index_conversation(row) for row in store.read_all(entries) if row.waiting is None)
        after = entries[-1].created
    return number


def _index_conversation(row: ConversationRow) -> bool:
    """Return whether the conversation waits, and has not changed. A changed conversation is already in the index."""
    metadata = store.read_metadata(row)
    if metadata.get("state") not in store.WAITING_STATES:
        return False
    activity = store.inbox_key(metadata["lastModified"], row.created)
    keys = [ConversationRow.waiting.set(row.workspace_id), ConversationRow.activity.set(activity)]
    try:
        with storage.unit_of_work():
            storage.update(row, keys, ConversationRow.version_tag == row.version_tag)
    except storage.ConditionFailed:
        return False
    return True
