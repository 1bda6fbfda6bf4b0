"""Workspace exports: files with one JSON object per line (NDJSON), which `imports` reads.

    {"kind": "export", "format": 1, "workspace": "…"}
    {"kind": "client", "key": "ann", "record": {"document": {…}, "version_tag": "…"}}
    {"kind": "lead", "agent": "support", "key": "…", "record": {"document": {…}, "version_tag": "…"}}
    {"kind": "end", "records": 2}

A record contains its row's decrypted attributes. The record order is fixed, so that an interrupted export can continue
after the last complete line.
"""

import json
import os
import sys
from collections.abc import Iterator
from functools import cache
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import click
from pynamodb.attributes import BinaryAttribute, TTLAttribute

from chalicelib import errors, storage
from chalicelib.conversations import new_messages, transcript
from chalicelib.conversations import store as conversations
from chalicelib.credentials import tokens
from chalicelib.credentials.store import CredentialRow
from chalicelib.webhooks.endpoints import WebhookRow
from infra.operator import records

FORMAT = 1
_BATCH = 25
# Attributes that records omit and imports set, because they depend on the AWS account or are derived from the rest of
# the line. Tombstones and visitor tokens are not exported, and suspending the workspace changes its tag.
_HIDDEN = {"workspace", "status", "imported", "suspended", "deleted_at", "changed_by"}
_HIDDEN_OF = {
    "workspace": {"version_tag"},
    "credential": {"issuer", "issuer_id", "agent_created", "conversation", "conversation_created"},
    "agent": {"agent_id"},
    "tool": {"agent_id"},
    "lead": {"captured"},
}

Record = dict[str, Any]


class ExportProgress(NamedTuple):
    """An export file's progress: the number and total size in bytes of complete lines, and the last line."""

    lines: int
    size: int
    last: Record


def header(workspace_id: str) -> Record:
    """Return the first line."""
    return {"kind": "export", "format": FORMAT, "workspace": workspace_id}


@cache
def members(name: str) -> dict[str, Any]:
    """Return the non-key attributes that records of this kind contain as members, keyed by name."""
    row = CredentialRow if name == "credential" else records.KINDS[name]
    hidden = _HIDDEN | _HIDDEN_OF.get(name, set())
    return {
        member: attribute
        for member, attribute in sorted(row.get_attributes().items())
        if member not in hidden and (name == "credential" or not (attribute.is_hash_key or attribute.is_range_key))
    }


def export(workspace_id: str, path: Path) -> int:
    """Write a workspace's export to a file, or continue the export; return the number of records.

    Raise Conflict if the file is not an export of this workspace.
    """
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        progress = _read_progress(file, _encode(header(workspace_id)))
        os.fchmod(file.fileno(), 0o600)
        file.seek(progress.size)
        file.truncate()
        if progress.last.get("kind") == "end":
            return int(progress.last["records"])
        if not progress.lines:
            _write(file, header(workspace_id))
        count = max(progress.lines - 1, 0) + _write_records(file, workspace_id, progress.last)
        _write(file, {"kind": "end", "records": count})
        file.flush()
        os.fsync(file.fileno())
    return count


def _read_progress(file: BinaryIO, first_line: bytes) -> ExportProgress:
    """Read the complete lines of a file that is empty or begins with `first_line` or part of it."""
    lines, size, last = 0, 0, b"{}"
    for line in file:
        if not lines and not first_line.startswith(line):
            raise errors.Conflict("The file is not an export of this workspace; choose another file.")
        if line.endswith(b"\n"):
            lines, size, last = lines + 1, size + len(line), line
    return ExportProgress(lines, size, json.loads(last))


def _write_records(file: BinaryIO, workspace_id: str, last: Record) -> int:
    """Write the records after the line `last`; return the record count."""
    order = list(records.KINDS)
    reached = (order.index(last["kind"]), last.get("agent", "")) if last.get("kind") in order else (-1, "")
    count = 0
    with click.progressbar(
        records.steps(workspace_id), label="Exporting", item_show_func=_step, file=sys.stderr
    ) as bar:
        for name, agent_id in bar:
            position = (order.index(name), agent_id)
            if position >= reached:
                after = last["key"] if position == reached else ""
                for record in _records(name, workspace_id, agent_id, after):
                    _write(file, record)
                    count += 1
    return count


def _step(step: tuple[str, str] | None) -> str:
    return " ".join(step) if step else ""


def _records(name: str, workspace_id: str, agent_id: str, after: str) -> Iterator[Record]:
    rows = records.find_rows(name, workspace_id, agent_id, after)
    described = _DESCRIBED[name](rows) if name in _DESCRIBED else _described(name, rows)
    of_agent = {"agent": agent_id} if agent_id else {}
    for key, record in described:
        yield {"kind": name, **of_agent, "key": key, "record": record}


def _described(name: str, rows: Iterator[Any]) -> Iterator[tuple[str, Record]]:
    """Yield each row's sort key and its other members."""
    for row in rows:
        if getattr(row, "deleted_at", None) is None:  # no tombstone
            yield row.keys[1], _record(name, row)


def _credentials(entries: Iterator[Any]) -> Iterator[tuple[str, Record]]:
    while batch := [*islice(entries, _BATCH)]:
        rows = storage.find_many([storage.Key(CredentialRow, entry.token_hash) for entry in batch])
        for entry, row in zip(batch, rows, strict=True):
            if row is not None and row.is_active and entry.lists(row) and row.kind != tokens.SESSION:
                yield entry.item, _record("credential", row)


def _conversations(entries: Iterator[Any]) -> Iterator[tuple[str, Record]]:
    while batch := [*islice(entries, _BATCH)]:
        for row in conversations.read_all(batch):
            state = transcript.read_state(row)
            yield (
                row.created,
                {
                    "conversation": storage.split_key(row.conversation)[2],
                    "version_tag": row.version_tag,
                    "metadata": state.metadata,
                    "seen": _totals(state.totals),
                    "turns": json.loads(state.turns),
                },
            )


def _totals(totals: new_messages.Totals) -> Record:
    return {
        "interactions": totals.interactions,
        "messages": totals.messages,
        "gone": totals.removed_digests.hex(),
    }


_DESCRIBED = {"credential": _credentials, "conversation": _conversations}


def _record(name: str, row: storage.Row) -> Record:
    """Return a row's members as JSON values."""
    return {
        member: _value(row, member, attribute)
        for member, attribute in members(name).items()
        if row.attribute_values.get(member) is not None
    }


def _value(row: storage.Row, name: str, attribute: Any) -> Any:
    value = row.attribute_values[name]
    if isinstance(attribute, BinaryAttribute):
        document = storage.unseal(row, name)
        if isinstance(row, WebhookRow):
            document.pop("importedAt", None)  # imports set it
        return document
    if isinstance(attribute, TTLAttribute):
        return int(value.timestamp())
    return sorted(value) if isinstance(value, set) else value


def _write(file: BinaryIO, record: Record) -> None:
    file.write(_encode(record))


def _encode(record: Record) -> bytes:
    return storage.encode_json(record) + b"\n"
