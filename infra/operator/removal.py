"""Workspace deletion, including all records. A deletion can be interrupted and repeated.

Webhook endpoints are disabled first, so that the deletions trigger no webhooks. Agents are deleted after their records,
endpoints after their deliveries, and the workspace last, so that a repeated deletion finds the remaining records.
Deliveries to previously deleted endpoints expire after 30 days. If the history is enabled, it lists such endpoints, and
their deliveries are deleted, too.

Visitor tokens expire after at most 30 days and are not deleted: no index lists them, they contain no personal data, and
they work only with the credential that issued them.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from functools import partial
from itertools import islice
from typing import Any

import click

from chalicelib import clock, extensions, storage
from chalicelib.agents import store as agents
from chalicelib.conversations.rows import CONVERSATION_ITEM, ChunkRow
from chalicelib.conversations.tallies import TallyRow
from chalicelib.credentials import store as credentials
from chalicelib.storage import Key, stored_responses
from chalicelib.webhooks import endpoints, hosts, ledger
from chalicelib.workspaces import store as workspaces
from infra.operator import records

# The timeout of the functions that fan out and deliver, plus the time in which the stream batches deliveries and its
# function counts them. Later invocations find no endpoint and write nothing.
_LAST_WEBHOOK_SECONDS = 60 + 3 + 10
_BATCH = 100
# Workspace kinds that cannot be deleted by their keys alone.
_OWN_STEPS = {"webhook", "credential", "workspace"}
_CONVERSATIONS = 10

Receipt = Counter[str]


def delete(workspace_id: str) -> Receipt:
    """Delete a suspended workspace and all of its records; return the number of deleted records by kind.

    Raise NotFound if there is no such workspace, or WrongStatus if it is not suspended.
    """
    begin(workspace_id)
    click.echo("Waiting for the last webhooks to finish …", err=True)
    clock.sleep(_LAST_WEBHOOK_SECONDS)
    return finish(workspace_id, _progress)


def begin(workspace_id: str) -> None:
    """Disable a suspended workspace's endpoints, so that no further webhooks are sent. Raise the errors of `delete`."""
    allowed = (workspaces.SUSPENDED, workspaces.DELETING, workspaces.IMPORTING)
    workspaces.change_status(workspace_id, allowed, workspaces.DELETING)
    for row in endpoints.list_all(workspace_id):
        storage.retry_on_conflict(partial(_disable, workspace_id, row.webhook_id))


def finish(workspace_id: str, progress: Callable[[list[str]], AbstractContextManager[Iterable[str]]]) -> Receipt:
    """Delete everything else in a workspace whose last webhook has finished. Raise NotFound.

    `progress` shows the progress of an iteration over the agents, like `click.progressbar`.
    """
    receipt: Receipt = Counter()
    agent_ids = records.list_agents(workspace_id) + agents.list_tombstones(workspace_id)
    with progress(agent_ids) as bar:
        for agent_id in bar:
            _delete(receipt, "tally", storage.iterate(TallyRow, storage.join_key(workspace_id, agent_id)))
            for name in reversed(records.KINDS):  # agents are deleted after their records
                if records.is_of_agent(name):
                    _delete_kind(receipt, name, workspace_id, agent_id)
    for name in records.KINDS.keys() - _OWN_STEPS:
        if not records.is_of_agent(name):
            _delete_kind(receipt, name, workspace_id, "")
    for remove in extensions.hooks("removal"):  # some rows are found by their endpoints
        receipt.update(remove(workspace_id))
    for endpoint in endpoints.list_all(workspace_id):
        _delete(receipt, "delivery", ledger.list_all(workspace_id, endpoint.webhook_id))
        _delete(receipt, "webhook", [endpoint])
    for partition in ledger.event_partitions(workspace_id):
        _delete(receipt, "event", storage.iterate(ledger.EventRow, partition))
    _delete(receipt, "stored answer", stored_responses.list_all(workspace_id))
    _delete_credentials(receipt, workspace_id)
    storage.delete_many([hosts.HostsRow(workspace_id)])
    storage.delete_many([endpoints.EndpointsLock(storage.join_key(workspace_id, endpoints.LOCK), endpoints.LOCK)])
    _delete(receipt, "workspace", [workspaces.read(workspace_id)])
    return receipt


def _progress(agent_ids: list[str]) -> AbstractContextManager[Iterable[str]]:
    return click.progressbar(agent_ids, label="Deleting agents", file=sys.stderr)


def _disable(workspace_id: str, webhook_id: str) -> None:
    endpoint = endpoints.find(workspace_id, webhook_id)
    if endpoint:
        document = endpoint.open()
        with storage.unit_of_work():
            endpoints.save(endpoint, document, {**document, "enabled": False})


def _delete(receipt: Receipt, name: str, rows: Iterable[Any]) -> None:
    for batch in _batches(rows, _BATCH):
        storage.delete_many(batch)
        receipt[name] += len(batch)


def _delete_kind(receipt: Receipt, name: str, workspace_id: str, agent_id: str) -> None:
    if name == "conversation":
        _delete_conversations(receipt, workspace_id, agent_id)
    else:
        _delete(receipt, name, records.find_rows(name, workspace_id, agent_id))


def _batches(rows: Iterable[Any], size: int) -> Iterator[list[Any]]:
    remaining = iter(rows)
    while batch := [*islice(remaining, size)]:
        yield batch


def _delete_conversations(receipt: Receipt, workspace_id: str, agent_id: str) -> None:
    """Delete an agent's conversations. Their rows reference chunks and received messages, so the rows come last."""
    for entries in _batches(records.find_rows("conversation", workspace_id, agent_id), _CONVERSATIONS):
        parts = [part for entry in entries for part in storage.iterate(ChunkRow, entry.conversation)]
        storage.delete_many([part for part in parts if part.item != CONVERSATION_ITEM])
        _delete(receipt, "conversation", [part for part in parts if part.item == CONVERSATION_ITEM])


def _delete_credentials(receipt: Receipt, workspace_id: str) -> None:
    """Delete the credentials, then their list entries. Skip tokens that another workspace has since imported."""
    for entries in _batches(credentials.list_entries(workspace_id), _BATCH):
        rows = storage.find_many([Key(credentials.CredentialRow, entry.token_hash) for entry in entries])
        listed = [row for entry, row in zip(entries, rows, strict=True) if row and entry.lists(row)]
        _delete(receipt, "credential", listed)
        storage.delete_many(entries)
