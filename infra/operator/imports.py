"""Workspace imports from files that `exports` wrote. Imports are idempotent: each line is an absolute write.

An import sends no webhooks. An imported conversation has no new messages, and an imported endpoint receives no events
about changes before its import (`endpoints.existed_at`), because the other records keep the version tags of their last
changes. There are no other writers, because the workspace and its credentials are suspended.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from functools import partial
from itertools import groupby, islice
from pathlib import Path
from typing import Any, NamedTuple

import click
from pydantic_core import to_json
from pynamodb.attributes import BinaryAttribute, TTLAttribute, UnicodeSetAttribute

from chalicelib import clock, errors, ids, storage
from chalicelib.conversations import new_messages
from chalicelib.conversations import store as conversations
from chalicelib.conversations.state import State
from chalicelib.credentials import store as credentials
from chalicelib.leads import store as leads
from chalicelib.storage import keyring
from chalicelib.webhooks.endpoints import WebhookRow
from chalicelib.workspaces import store as workspaces
from infra.operator import exports, records, shapes
from infra.operator.exports import Record

# Number of lines after which the import saves its progress. A line may be several megabytes long.
_PORTION = 25
_NO_EXPORT = "The file is not an export of a workspace."
_INCOMPLETE = "The export is incomplete; repeat the command that wrote it."


class _File(NamedTuple):
    workspace_id: str
    digest: str
    records: int


def import_file(path: Path) -> int:
    """Import a file, or continue its import; return its number of records.

    Raise Conflict if the workspace exists, or Invalid if the file is not a complete export.
    """
    file = _check(path)
    keyring.ensure_data_key()
    with path.open("rb") as lines:
        next(lines)
        done = _start(file, json.loads(next(lines)))
        pending = enumerate(islice(lines, done, file.records - 1), done + 3)
        with click.progressbar(length=file.records - 1, label="Importing", file=sys.stderr) as bar:
            bar.update(done)
            while portion := [*islice(pending, _PORTION)]:
                _save(file.workspace_id, ((number, json.loads(line)) for number, line in portion))
                done += len(portion)
                _record_progress(file, done)
                bar.update(len(portion))
    workspaces.change_status(file.workspace_id, (workspaces.IMPORTING,), workspaces.SUSPENDED)
    return file.records


def _check(path: Path) -> _File:
    """Check, before anything is written, that a file is a complete export and that each line is a valid record."""
    digest, count = hashlib.sha256(), 0
    header, before = Record(), Record()
    line: Any = None
    with path.open("rb") as file:
        for raw in iter(partial(file.readline, shapes.MAX_LINE), b""):
            if count > 1:
                if problem := shapes.find_problem(line, count, before):
                    raise errors.Invalid(f"Line {count} of the file is not an export record: {problem}.")
                before = line
            line = shapes.parse(raw)
            digest.update(raw)
            count += 1
            if count == 1:
                header = line if isinstance(line, dict) else {}
                if header != exports.header(str(header.get("workspace"))):
                    raise errors.Invalid(_NO_EXPORT)
    workspace_id = str(header.get("workspace"))
    if not ids.ULID.fullmatch(workspace_id):
        raise errors.Invalid(_NO_EXPORT)
    if count < 3 or line != {"kind": "end", "records": count - 2}:
        raise errors.Invalid(_INCOMPLETE)
    return _File(workspace_id, digest.hexdigest(), count - 2)


@storage.in_unit_of_work
def _start(file: _File, settings: Record) -> int:
    """Stage the workspace, or find its interrupted import. Return how many lines after the settings are imported."""
    row = storage.find(workspaces.WorkspaceRow, file.workspace_id, settings["key"])
    if row is None:
        new = _row(workspaces.WorkspaceRow(file.workspace_id, settings["key"]), settings["record"])
        new.status, new.imported = workspaces.IMPORTING, f"{file.digest} 0"
        storage.put(new)
        return 0
    digest, _, done = (row.imported or "").partition(" ")
    if row.status != workspaces.IMPORTING:
        raise errors.Conflict("The workspace already exists; imports do not change existing workspaces.")
    if digest != file.digest:
        raise errors.Conflict(
            "Another file is being imported into this workspace; continue with that file, or delete the workspace."
        )
    return int(done)


def _record_progress(file: _File, done: int) -> None:
    status = workspaces.WorkspaceRow.status
    with storage.unit_of_work():
        row, is_importing = workspaces.WorkspaceRow(file.workspace_id), status == workspaces.IMPORTING
        storage.update(row, [workspaces.WorkspaceRow.imported.set(f"{file.digest} {done}")], is_importing)


def _save(workspace_id: str, portion: Iterator[tuple[int, Record]]) -> None:
    for name, numbered_records in groupby(portion, lambda pair: str(pair[1]["kind"])):
        if name == "credential":
            for _, record in numbered_records:
                _save_credential(workspace_id, record["record"])
        else:
            storage.save_many([*_rows(name, workspace_id, numbered_records)])


def _rows(name: str, workspace_id: str, numbered_records: Iterator[tuple[int, Record]]) -> Iterator[storage.Row]:
    for number, record in numbered_records:
        try:
            yield _row_of(name, workspace_id, record)
        except errors.TooLarge as error:
            raise errors.TooLarge(f"Line {number} of the file cannot be imported: {error.message}") from error


def _row_of(name: str, workspace_id: str, record: Record) -> Any:
    agent_id = record.get("agent", "")
    if name == "conversation":
        return _conversation(workspace_id, agent_id, record["key"], record["record"])
    partition = records.partition(name, workspace_id, agent_id)
    row: Any = _row(records.KINDS[name](partition, record["key"]), record["record"])
    if name == "agent":
        row.workspace = workspace_id
    if name == "lead":
        row.workspace, row.captured = workspace_id, leads.ulid_of(row)
    if name in ("agent", "tool"):
        row.agent_id = agent_id
    return row


def _conversation(workspace_id: str, agent_id: str, created: str, record: Record) -> conversations.ConversationRow:
    row = conversations.ConversationRow(storage.join_key(workspace_id, agent_id, record["conversation"]))
    row.agent, row.created = storage.join_key(workspace_id, agent_id), created
    row.version_tag = record["version_tag"]
    seen = record["seen"]
    totals = new_messages.Totals(seen["interactions"], seen["messages"], bytes.fromhex(seen["gone"]))
    # This is the encoder of the first write, so the stored text is identical.
    return conversations.restore(row, State(record["metadata"], to_json(record["turns"]), totals))


def _save_credential(workspace_id: str, record: Record) -> None:
    row = _row(credentials.CredentialRow(record["token_hash"]), record)
    row.workspace, row.suspended = workspace_id, True
    taken = errors.Conflict("A credential in the file belongs to another workspace in this account.")
    with storage.unit_of_work():
        credentials.restore(row, taken)


def _row(row: Any, record: Record) -> Any:
    """Return `row` with the attributes of a line that the row's class declares."""
    for name, attribute in type(row).get_attributes().items():
        if name in record and not (attribute.is_hash_key or attribute.is_range_key):
            setattr(row, name, _value(row, name, attribute, record[name]))
    if isinstance(row, storage.AuthoredRow):
        row.changed_by = storage.current_author()
    return row


def _value(row: storage.Row, name: str, attribute: Any, value: Any) -> Any:
    if isinstance(attribute, BinaryAttribute):
        moment = {"importedAt": clock.milliseconds()} if isinstance(row, WebhookRow) else {}
        return storage.seal(row, name, {**value, **moment})
    if isinstance(attribute, TTLAttribute):
        return clock.to_datetime(value)
    return set(value) if isinstance(attribute, UnicodeSetAttribute) else value
