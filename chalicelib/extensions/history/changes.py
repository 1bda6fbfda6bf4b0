"""Builds history entries from stream records. A repeated stream record produces the same entry."""

from collections.abc import Callable
from typing import Any, NamedTuple

from chalicelib import clock, ids, storage
from chalicelib.agents.rows import AgentRow, is_agent
from chalicelib.clients.store import ClientRow
from chalicelib.credentials.store import CredentialRow
from chalicelib.extensions.history import coverage, paths, restorations, rows
from chalicelib.extensions.history.rows import HistoryRow, VersionRow
from chalicelib.organisations.store import OrganisationRow
from chalicelib.storage import Document, images
from chalicelib.storage.images import Image
from chalicelib.tools.store import ToolRow
from chalicelib.webhooks import hosts
from chalicelib.webhooks.endpoints import WebhookRow

# A replaced version that is older than this is stored again, so that it is kept for at least another 370 days.
_KEPT_AGAIN_SECONDS = 30 * 24 * 60 * 60


class RecordState(NamedTuple):
    """A record's state in a stream image.

    `document` is None for a deleted record; `version_tag` is None for a credential. `restored` is the number of the
    version that the write restored, if it did.
    """

    workspace_id: str
    resource: str
    record_id: str
    document: Document | None
    author: str | None
    version_tag: str | None
    restored: int | None = None

    @property
    def origin(self) -> dict[str, Any]:
        """The entry's members `by` and `restoredFrom`, without those that are unknown."""
        members = {"by": self.author, "restoredFrom": self.restored}
        return {name: value for name, value in members.items() if value is not None}


class Entry(NamedTuple):
    """The rows for a change: its history row, the version that it wrote, and an entry for the version that it replaced.

    `replaced` is set if the replaced version may be missing or may expire soon. `is_kept` means that this version was
    stored and has not expired. If such a version is missing, an erasure has deleted it.
    """

    row: HistoryRow
    version: VersionRow | None
    replaced: "Entry | None" = None
    is_kept: bool = False


VERSIONED = frozenset({"agents", "tools"})


def from_record(record: dict[str, Any]) -> Entry | None:
    """Return the history entry for a stream record, or None if the history does not keep the change.

    Raise KeyError, TypeError or ValueError if the stream record is malformed. Also raise DecryptionError, UnknownLayout
    and Unavailable.
    """
    stream = record["dynamodb"]
    read = _READERS[record["eventSourceARN"].split("/")[1].removeprefix(storage.table(""))]
    new, old = (images.decode(stream.get(name)) for name in ("NewImage", "OldImage"))
    after, before = read(new) if new else None, read(old) if old else None
    if after is None:
        return None
    if before is not None and before.record_id != after.record_id:
        before = None  # a new credential reuses an expired credential's key
    change = after.version_tag or _change_of_credential(after, before, stream)
    operation, members = _operation(before, after)
    if not operation:
        return None
    entry = {"operation": operation, **after.origin, "changed": members}
    row = rows.new(after.workspace_id, after.resource, after.record_id, change, entry)
    start = coverage.start(row.milliseconds) if after.resource in VERSIONED else 0
    return Entry(row, _version(after, row), _replaced(before, row, start))


def _version(state: RecordState, row: HistoryRow) -> VersionRow | None:
    if state.document is None or state.resource not in VERSIONED:
        return None
    version = rows.version_of(row)
    version.seal(state.document)
    return version


def _operation(before: RecordState | None, after: RecordState) -> tuple[str, list[str]]:
    """Return the operation and the changed members. The operation is empty if a save changed nothing."""
    if after.document is None:
        return rows.DELETE, []
    if before is None or before.document is None:
        return rows.CREATE, paths.list_changed({}, after.document)
    members = paths.list_changed(before.document, after.document)
    return (rows.UPDATE if members else ""), members


def _replaced(before: RecordState | None, row: HistoryRow, coverage_start: int) -> Entry | None:
    """Return an entry for the replaced version if it was written without history or would expire soon."""
    if before is None or before.document is None or before.version_tag is None or before.resource not in VERSIONED:
        return None
    written = ids.timestamp_of(before.version_tag)
    is_covered, age = written >= coverage_start, row.milliseconds - written
    if is_covered and age < _KEPT_AGAIN_SECONDS * 1000:
        return None
    entry = {**before.origin, "changed": []}
    old = rows.new(before.workspace_id, before.resource, before.record_id, before.version_tag, entry)
    old.expires_at = row.expires_at
    is_kept = is_covered and age < rows.KEPT_SECONDS * 1000
    return Entry(old, _version(before, old), is_kept=is_kept)


def _change_of_credential(after: RecordState, before: RecordState | None, stream: dict[str, Any]) -> str:
    if before is None:
        return after.record_id  # the ULID of its creation
    # Stream timestamps are whole seconds, so a change could appear to precede a creation in the same second.
    milliseconds = max(int(stream["ApproximateCreationDateTime"] * 1000), ids.timestamp_of(after.record_id) + 1)
    return rows.change_at(milliseconds, after.resource, after.record_id, stream["SequenceNumber"])


def _agent_or_tool(image: Image) -> RecordState:
    row: Any = (AgentRow if is_agent(image["item"]["S"]) else ToolRow).from_raw_data(image)
    if isinstance(row, ToolRow):
        return _state(row, "tools", row.tool_id)
    return _state(row, "agents", row.agent_id)


def _client(image: Image) -> RecordState | None:
    if "document" not in image:
        return None  # the row reserves an email address
    row = ClientRow.from_raw_data(image)
    return _state(row, "clients", row.client_id)


def _organisation(image: Image) -> RecordState:
    row = OrganisationRow.from_raw_data(image)
    return _state(row, "orgs", row.org_id)


def _webhook(image: Image) -> RecordState | None:
    if "document" not in image or image["webhook_id"]["S"] == hosts.SORT_KEY:
        return None  # the creation lock or the host states
    row = WebhookRow.from_raw_data(image)
    return _state(row, "webhooks", row.webhook_id)


def _credential(image: Image) -> RecordState | None:
    row = CredentialRow.from_raw_data(image)
    if row.resource is None:
        return None  # a visitor token, a console session, or a failed sign-in counter
    members = {
        "name": row.name,
        "agentId": row.agent_id,
        "readOnly": row.read_only or None,
        "scopes": None if row.scopes is None else sorted(row.scopes),
        "expiresAt": None if row.ends_at is None else clock.iso(row.ends_at),
    }
    document = {name: value for name, value in members.items() if value is not None}
    return RecordState(row.workspace, row.resource, row.credential_id, document, row.changed_by, None)


def _state(row: Any, resource: str, record_id: str) -> RecordState:
    document = None if row.document is None else row.open()
    author, restored = restorations.split(row.changed_by)
    return RecordState(row.workspace_id, resource, record_id, document, author, row.version_tag, restored)


_READERS: dict[str, Callable[[Image], RecordState | None]] = {
    "agents": _agent_or_tool,
    "clients": _client,
    "organisations": _organisation,
    "webhooks": _webhook,
    "credentials": _credential,
}
