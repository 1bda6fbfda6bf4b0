"""The export of a workspace: a file of one JSON object per line (NDJSON), which `imports` reads.

    {"kind": "export", "format": 1, "workspace": "…"}
    {"kind": "client", "key": "ann", "record": {"document": {…}, "version_tag": "…"}}
    {"kind": "lead", "agent": "support", "key": "…", "record": {"document": {…}, "version_tag": "…"}}
    {"kind": "end", "records": 2}

A record has the attributes of its row, decrypted. The order of the records is fixed, so the last complete line says
where an interrupted export continues.
"""

import json
import os
import sys
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import click
from pynamodb.attributes import BinaryAttribute, TTLAttribute

from chalicelib import errors, storage
from chalicelib.conversations import store as conversations
from chalicelib.credentials.store import CredentialRow
from chalicelib.webhooks.endpoints import WebhookRow
from infra.cams import records

FORMAT = 1
_BATCH = 25
# Attributes that an import sets: they depend on where the workspace is, or follow from the rest of the line.
_OWN = {"workspace", "status", "imported", "suspended"}

Record = dict[str, Any]


class Written(NamedTuple):
    """What a file holds: its number of complete lines, their bytes, and the last one."""

    lines: int
    size: int
    last: Record


def header(workspace_id: str) -> Record:
    """The first line."""
    return {"kind": "export", "format": FORMAT, "workspace": workspace_id}


def export(workspace_id: str, path: Path) -> int:
    """Write the export of a workspace to a file, or continue it; return the number of records.

    Raises Conflict for another file.
    """
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b") as file:
        written = _read_written(file, _encode(header(workspace_id)))
        os.fchmod(file.fileno(), 0o600)
        file.seek(written.size)
        file.truncate()
        if written.last.get("kind") == "end":
            return int(written.last["records"])
        if not written.lines:
            _write(file, header(workspace_id))
        count = max(written.lines - 1, 0) + _write_records(file, workspace_id, written.last)
        _write(file, {"kind": "end", "records": count})
        file.flush()
        os.fsync(file.fileno())
    return count


def _read_written(file: BinaryIO, first_line: bytes) -> Written:
    """Read the complete lines of a file that begins with `first_line`, or with a part of it, or is empty."""
    lines, size, last = 0, 0, b"{}"
    for line in file:
        if not lines and not first_line.startswith(line):
            raise errors.Conflict("The file is no export of this workspace; name another file.")
        if line.endswith(b"\n"):
            lines, size, last = lines + 1, size + len(line), line
    return Written(lines, size, json.loads(last))


def _write_records(file: BinaryIO, workspace_id: str, last: Record) -> int:
    """Write the records after the line `last`; return their number."""
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
    found = records.find_rows(name, workspace_id, agent_id, after)
    described = _DESCRIBED.get(name, _described)(found)
    of_agent = {"agent": agent_id} if agent_id else {}
    for key, members in described:
        yield {"kind": name, **of_agent, "key": key, "record": members}


def _described(rows: Iterator[Any]) -> Iterator[tuple[str, Record]]:
    """The sort key and the other members of each row. The agent's id is in the line already."""
    for row in rows:
        if getattr(row, "deleted_at", None) is None:  # no tombstone
            yield row.keys[1], _attributes(row, _OWN | {"agent_id"})


def _workspace(rows: Iterator[Any]) -> Iterator[tuple[str, Record]]:
    for row in rows:
        yield row.item, _attributes(row, _OWN | {"version_tag"})  # suspending the workspace changes the tag


def _credentials(entries: Iterator[Any]) -> Iterator[tuple[str, Record]]:
    while batch := [*islice(entries, _BATCH)]:
        rows = storage.find_many([storage.Key(CredentialRow, entry.token_hash) for entry in batch])
        for entry, row in zip(batch, rows, strict=True):
            if row is not None and row.is_active:
                yield entry.item, {"token_hash": row.token_hash, **_attributes(row, _OWN)}


def _conversations(entries: Iterator[Any]) -> Iterator[tuple[str, Record]]:
    while batch := [*islice(entries, _BATCH)]:
        for row in conversations.read_all(batch):
            state = conversations.read_state(row)
            yield (
                row.created,
                {
                    "conversation": storage.split_key(row.conversation)[2],
                    "version_tag": row.version_tag,
                    "metadata": state.metadata,
                    "seen": {**state.seen._asdict(), "gone": state.seen.gone.hex()},
                    "turns": json.loads(state.turns),
                },
            )


_DESCRIBED = {"workspace": _workspace, "credential": _credentials, "conversation": _conversations}


def _attributes(row: storage.Row, hidden: set[str]) -> Record:
    """The attributes of a row but its keys and the hidden ones, as JSON values."""
    return {
        name: _value(row, name, attribute)
        for name, attribute in sorted(type(row).get_attributes().items())
        if not (attribute.is_hash_key or attribute.is_range_key or name in hidden)
        and row.attribute_values.get(name) is not None
    }


def _value(row: storage.Row, name: str, attribute: Any) -> Any:
    value = row.attribute_values[name]
    if isinstance(attribute, BinaryAttribute):
        document = storage.unseal(row, name)
        if isinstance(row, WebhookRow):
            document.pop("importedAt", None)  # set by an import
        return document
    if isinstance(attribute, TTLAttribute):
        return int(value.timestamp())
    return sorted(value) if isinstance(value, set) else value


def _write(file: BinaryIO, record: Record) -> None:
    file.write(_encode(record))


def _encode(record: Record) -> bytes:
    return storage.encode_json(record) + b"\n"
