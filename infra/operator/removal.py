"""The deletion of a workspace with everything that belongs to it. It can be interrupted and repeated.

Endpoints are first: without them, the deletions make no webhook. An agent follows its records, and the workspace itself
is last, so that a repeated deletion finds what is left. Deliveries are found by the history, which has the id of every
endpoint that was deleted.

Visitor tokens stay until they expire, after at most 30 days: nothing lists them, they name no person, and they open
nothing without the credential that issued them.
"""

import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from itertools import islice
from typing import Any

import click

from chalicelib import clock, storage
from chalicelib.agents import store as agents
from chalicelib.analytics.counts import NO_AGENT
from chalicelib.conversations.rows import HEAD, ChunkRow
from chalicelib.conversations.tallies import TallyRow
from chalicelib.credentials import store as credentials
from chalicelib.erasures import store as erasures
from chalicelib.extensions.console.notifications import allowance, notices
from chalicelib.history import store as history
from chalicelib.storage import Key, stored_responses
from chalicelib.storage.history import HistoryRow, deletions
from chalicelib.webhooks import endpoints, hosts, ledger
from chalicelib.workspaces import store as workspaces
from infra.operator import records

# The timeout of the functions that fan out and deliver: one that began later finds no endpoint, and writes nothing.
# Then the time for which the stream gathers a batch of deliveries, and its function counts them.
_LAST_WEBHOOK_SECONDS = 60 + 60 + 10
_BATCH = 100
_CONVERSATIONS = 10
_WEBHOOKS = "webhooks"

Receipt = Counter[str]


def delete(workspace_id: str) -> Receipt:
    """Delete everything of a suspended workspace; return the number of deleted records by kind.

    Raises NotFound, and WrongStatus if the workspace is not suspended.
    """
    receipt = begin(workspace_id)
    click.echo("Waiting for the last webhooks to end …", err=True)
    clock.sleep(_LAST_WEBHOOK_SECONDS)
    receipt.update(finish(workspace_id, _progress))
    return receipt


def begin(workspace_id: str) -> Receipt:
    """Delete the endpoints of a suspended workspace, so that nothing else causes a webhook. Raises as `delete`."""
    allowed = (workspaces.SUSPENDED, workspaces.DELETING, workspaces.IMPORTING)
    workspaces.change_status(workspace_id, allowed, workspaces.DELETING)
    receipt: Receipt = Counter()
    _delete_webhooks(receipt, workspace_id)
    return receipt


def finish(workspace_id: str, progress: Callable[[list[str]], AbstractContextManager[Iterable[str]]]) -> Receipt:
    """Delete everything else of a workspace whose last webhook has ended. Raises NotFound.

    `progress` shows the progress of an iteration over the agents, like `click.progressbar`.
    """
    receipt: Receipt = Counter()
    agent_ids = records.list_agents(workspace_id) + agents.list_tombstones(workspace_id)
    with progress(agent_ids) as bar:
        for agent_id in bar:
            _delete_conversations(receipt, workspace_id, agent_id)
            _delete(receipt, "tally", storage.iterate(TallyRow, storage.key(workspace_id, agent_id)))
            for name in ("lead", "analytics", "tool", "agent"):
                _delete(receipt, name, records.find_rows(name, workspace_id, agent_id))
    _delete(receipt, "tally", storage.iterate(TallyRow, storage.key(workspace_id, NO_AGENT)))
    for name in ("client", "email", "organisation"):
        _delete(receipt, name, records.find_rows(name, workspace_id, ""))
    _delete_deliveries(receipt, workspace_id)
    for changes in _changes(workspace_id):
        history.delete(changes)
        receipt["change"] += len(changes)
    for partition in ledger.event_partitions(workspace_id):
        _delete(receipt, "event", storage.iterate(ledger.EventRow, partition))
    _delete(receipt, "stored answer", stored_responses.list_all(workspace_id))
    _delete_credentials(receipt, workspace_id)
    _delete(receipt, "erasure", erasures.list_all(workspace_id))
    _delete(receipt, "notice", [*notices.list_all(workspace_id), *allowance.list_all(workspace_id)])
    storage.delete_many([hosts.HostsRow(workspace_id)])
    storage.delete_many([endpoints.EndpointsLock(storage.key(workspace_id, endpoints.LOCK), endpoints.LOCK)])
    _delete(receipt, "workspace", [workspaces.find(workspace_id)])
    return receipt


def _progress(agent_ids: list[str]) -> AbstractContextManager[Iterable[str]]:
    return click.progressbar(agent_ids, label="Deleting agents", file=sys.stderr)


def _delete_webhooks(receipt: Receipt, workspace_id: str) -> None:
    """Delete the endpoints, after the history has their ids: a repeated deletion finds their deliveries."""
    rows = [*records.find_rows("webhook", workspace_id, "")]
    webhook_ids = [row.webhook_id for row in rows]
    storage.save_many(deletions(workspace_id, _WEBHOOKS, webhook_ids, clock.milliseconds(), None))
    _delete(receipt, "webhook", rows)


def _delete_deliveries(receipt: Receipt, workspace_id: str) -> None:
    resources = {row.resource for changes in _changes(workspace_id) for row in changes}
    for kind, _, webhook_id in (resource.partition("/") for resource in sorted(resources)):
        if kind == _WEBHOOKS:
            _delete(receipt, "delivery", ledger.list_all(workspace_id, webhook_id))


def _changes(workspace_id: str) -> Iterator[list[HistoryRow]]:
    after = None
    while changes := history.batch_of_workspace(workspace_id, after, _BATCH):
        yield changes
        after = changes[-1].change


def _delete(receipt: Receipt, name: str, rows: Iterable[Any]) -> None:
    for batch in _batches(rows, _BATCH):
        storage.delete_many(batch)
        receipt[name] += len(batch)


def _batches(rows: Iterable[Any], size: int) -> Iterator[list[Any]]:
    remaining = iter(rows)
    while batch := [*islice(remaining, size)]:
        yield batch


def _delete_conversations(receipt: Receipt, workspace_id: str, agent_id: str) -> None:
    """Delete the conversations of an agent, each after its chunks and received messages: it is how they are found."""
    for entries in _batches(records.find_rows("conversation", workspace_id, agent_id), _CONVERSATIONS):
        parts = [part for entry in entries for part in storage.iterate(ChunkRow, entry.conversation)]
        storage.delete_many([part for part in parts if part.item != HEAD])
        _delete(receipt, "conversation", [part for part in parts if part.item == HEAD])


def _delete_credentials(receipt: Receipt, workspace_id: str) -> None:
    """Delete the credentials, then the entries that list them. Another workspace may have the token by now."""
    for entries in _batches(credentials.list_entries(workspace_id), _BATCH):
        rows = storage.find_many([Key(credentials.CredentialRow, entry.token_hash) for entry in entries])
        listed = [row for entry, row in zip(entries, rows, strict=True) if row and entry.lists(row)]
        _delete(receipt, "credential", listed)
        storage.delete_many(entries)
