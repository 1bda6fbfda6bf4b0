"""The import of a workspace from a file that `exports` wrote. It can be repeated: each line is an absolute write.

No webhook follows from an import. An imported conversation has no new messages, and an imported endpoint gets no event
of a change before its import (`endpoints.existed_at`): the other records keep the version tags of their last change.
There is no other writer, because the workspace and its credentials are suspended.
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
from chalicelib.conversations import received
from chalicelib.conversations import store as conversations
from chalicelib.conversations.state import State
from chalicelib.credentials import store as credentials
from chalicelib.storage import keyring
from chalicelib.webhooks.endpoints import WebhookRow
from chalicelib.workspaces import store as workspaces
from infra.cams import exports, records
from infra.cams.exports import Record

# Lines between two marks of how far the import is. Each may have megabytes.
_PORTION = 25
# Bytes. The longest lines are those of conversations, which have up to 6 MiB of turns.
_MAX_LINE = 32_000_000
_NO_EXPORT = "The file is no export of a workspace."
_INCOMPLETE = "The export is incomplete; repeat the command that wrote it."


class _File(NamedTuple):
    workspace_id: str
    digest: str
    records: int


def import_file(path: Path) -> int:
    """Import a file, or continue its import; return its number of records.

    Raises Conflict if the workspace exists, Invalid for another file or an incomplete export.
    """
    file = _check(path)
    keyring.ensure_data_key()
    with path.open("rb") as lines:
        next(lines)
        done = _start(file, json.loads(next(lines)))
        pending = islice(lines, done, file.records - 1)
        with click.progressbar(length=file.records - 1, label="Importing", file=sys.stderr) as bar:
            bar.update(done)
            while portion := [*islice(pending, _PORTION)]:
                _save(file.workspace_id, map(json.loads, portion))
                done += len(portion)
                _record_progress(file, done)
                bar.update(len(portion))
    workspaces.change_status(file.workspace_id, (workspaces.IMPORTING,), workspaces.SUSPENDED)
    return file.records


def _check(path: Path) -> _File:
    """Read a file once, before anything is written: it must be a complete export, and each line a record of it."""
    digest, count, line, header = hashlib.sha256(), 0, Record(), Record()
    with path.open("rb") as file:
        for raw in iter(partial(file.readline, _MAX_LINE), b""):
            if count > 1 and not _is_record(line, count):
                raise errors.Invalid(f"Line {count} of the file is no record of an export.")
            line = _parsed(raw)
            header = header or line
            digest.update(raw)
            count += 1
            if header != exports.header(str(header.get("workspace"))):
                raise errors.Invalid(_NO_EXPORT)
    workspace_id = str(header.get("workspace"))
    if not ids.ULID.fullmatch(workspace_id):
        raise errors.Invalid(_NO_EXPORT)
    if line != {"kind": "end", "records": count - 2} or count < 3:
        raise errors.Invalid(_INCOMPLETE)
    return _File(workspace_id, digest.hexdigest(), count - 2)


def _is_record(line: Record, number: int) -> bool:
    """Whether a line has the members of a record, with a key of its kind. The workspace is in the second line only.

    Otherwise a file could write what its kind does not own, or into a workspace that exists.
    """
    name, key = str(line.get("kind")), line.get("key")
    if name not in records.KINDS or (name == "workspace") != (number == 2) or not isinstance(key, str):
        return False
    kind = records.KINDS[name]
    is_of_kind = kind.low < key < kind.high and (name != "workspace" or key == name)
    return is_of_kind and isinstance(line.get("record"), dict) and isinstance(line.get("agent", ""), str)


def _parsed(line: bytes) -> Record:
    """A line as an object; an empty one if it is cut."""
    try:
        record = json.loads(line)
    except ValueError:
        return {}
    return record if isinstance(record, dict) else {}


@storage.in_unit_of_work
def _start(file: _File, settings: Record) -> int:
    """Stage the workspace, or find its interrupted import; return how many lines after the settings are done."""
    row = storage.find(workspaces.WorkspaceRow, file.workspace_id, settings["key"])
    if row is None:
        new = _row(workspaces.WorkspaceRow(file.workspace_id, settings["key"]), settings["record"])
        new.status, new.imported = workspaces.IMPORTING, f"{file.digest} 0"
        storage.put(new)
        return 0
    digest, _, done = (row.imported or "").partition(" ")
    if row.status != workspaces.IMPORTING:
        raise errors.Conflict("The workspace exists already; an import does not change one.")
    if digest != file.digest:
        raise errors.Conflict("Another file of this workspace is being imported; continue with that one.")
    return int(done)


def _record_progress(file: _File, done: int) -> None:
    status = workspaces.WorkspaceRow.status
    with storage.unit_of_work():
        row, is_importing = workspaces.WorkspaceRow(file.workspace_id), status == workspaces.IMPORTING
        storage.update(row, [workspaces.WorkspaceRow.imported.set(f"{file.digest} {done}")], is_importing)


def _save(workspace_id: str, portion: Iterator[Record]) -> None:
    for name, found in groupby(portion, lambda record: str(record["kind"])):
        if name == "credential":
            for record in found:
                _save_credential(workspace_id, record["record"])
        else:
            storage.save_many([*_rows(name, workspace_id, found)])


def _rows(name: str, workspace_id: str, found: Iterator[Record]) -> Iterator[storage.Row]:
    kind = records.KINDS[name]
    for record in found:
        agent_id = _identifier(record.get("agent", "-"))
        if name == "conversation":
            yield _conversation(workspace_id, agent_id, record["key"], record["record"])
            continue
        row = _row(kind.row(kind.partition(workspace_id, agent_id), record["key"]), record["record"])
        if name == "agent":
            row.workspace = workspace_id
        if name in ("agent", "tool"):
            row.agent_id = agent_id
        yield row


def _conversation(workspace_id: str, agent_id: str, created: str, record: Record) -> conversations.ConversationRow:
    row = conversations.ConversationRow(storage.key(workspace_id, agent_id, _identifier(record["conversation"])))
    row.agent, row.created = storage.key(workspace_id, agent_id), created
    row.version_tag = record["version_tag"]
    seen = {**record["seen"], "gone": bytes.fromhex(record["seen"]["gone"])}
    # The encoder that wrote them first: the stored text is the same.
    return conversations.restore(row, State(record["metadata"], to_json(record["turns"]), received.Seen(**seen)))


def _save_credential(workspace_id: str, record: Record) -> None:
    row = _row(credentials.CredentialRow(record["token_hash"]), record)
    row.workspace, row.suspended = workspace_id, True
    taken = errors.Conflict("A credential of the file belongs to another workspace of this account.")
    with storage.unit_of_work():
        credentials.restore(row, taken)


def _identifier(text: str) -> str:
    """An id from the file as part of a partition key, which it must not leave."""
    if not ids.IDENTIFIER.fullmatch(text):
        raise errors.Invalid(_NO_EXPORT)
    return text


def _row(row: Any, record: Record) -> Any:
    """`row` with the attributes of a line that its class has."""
    for name, attribute in type(row).get_attributes().items():
        if name in record and not (attribute.is_hash_key or attribute.is_range_key):
            setattr(row, name, _value(row, name, attribute, record[name]))
    return row


def _value(row: storage.Row, name: str, attribute: Any, value: Any) -> Any:
    if isinstance(attribute, BinaryAttribute):
        moment = {"importedAt": clock.milliseconds()} if isinstance(row, WebhookRow) else {}
        return storage.seal(row, name, {**value, **moment})
    if isinstance(attribute, TTLAttribute):
        return clock.to_datetime(value)
    return set(value) if isinstance(attribute, UnicodeSetAttribute) else value
