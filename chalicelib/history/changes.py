"""A record of a stream as a row of the history: what it says follows from the change alone, so a repeat is the same."""

from collections.abc import Callable
from typing import Any, NamedTuple

from chalicelib import clock, ids, storage
from chalicelib.agents.rows import AgentRow, is_agent
from chalicelib.clients.store import ClientRow
from chalicelib.credentials.store import CredentialRow
from chalicelib.history import paths
from chalicelib.organisations.store import OrganisationRow
from chalicelib.storage import Document, history, images
from chalicelib.storage.history import HistoryRow, VersionRow
from chalicelib.storage.images import Image
from chalicelib.tools.store import ToolRow
from chalicelib.webhooks import hosts
from chalicelib.webhooks.endpoints import WebhookRow

# A version that is replaced later than this is kept again, so that it is there for at least 370 days more.
_KEPT_AGAIN_SECONDS = 30 * 24 * 60 * 60


class State(NamedTuple):
    """A record as a row has it: its resource and id, its document, or None if it is deleted, and who wrote it.

    `version_tag` is None for a credential.
    """

    workspace_id: str
    resource: str
    record_id: str
    document: Document | None
    author: str | None
    version_tag: str | None


class Found(NamedTuple):
    """What to write for a change: its row, the version that it wrote, and the one before it if that may be missing.

    `is_kept` says of the one before that it was kept, and has not expired: if it is gone, an erasure has removed it.
    """

    row: HistoryRow
    version: VersionRow | None
    replaced: "Found | None" = None
    is_kept: bool = False


VERSIONED = frozenset({"agents", "tools"})


def from_record(record: dict[str, Any]) -> Found | None:
    """Read a record of a function's event. None if nothing has changed that the history keeps.

    Raises KeyError, TypeError or ValueError if it is malformed, DecryptionError, and UnknownLayout.
    """
    stream = record["dynamodb"]
    read = _READERS[record["eventSourceARN"].split("/")[1].removeprefix(storage.table(""))]
    new, old = (images.decode(stream.get(name)) for name in ("NewImage", "OldImage"))
    after, before = read(new) if new else None, read(old) if old else None
    if after is None:
        return None
    if before is not None and before.record_id != after.record_id:
        before = None  # the new credential has the key of an expired one
    change = after.version_tag or _change_of_credential(after, before, stream)
    operation, members = _operation(before, after)
    if not operation:
        return None
    by = {} if after.author is None else {"by": after.author}
    entry = {"operation": operation, **by, "changed": members}
    row = history.new(after.workspace_id, after.resource, after.record_id, change, entry)
    return Found(row, _version(after, row), _replaced(before, row))


def _version(state: State, row: HistoryRow) -> VersionRow | None:
    if state.document is None or state.resource not in VERSIONED:
        return None
    version = history.version_of(row)
    version.seal(state.document)
    return version


def _operation(before: State | None, after: State) -> tuple[str, list[str]]:
    """The operation and the members that changed; an empty operation for no change."""
    if after.document is None:
        return history.DELETE, []
    if before is None or before.document is None:
        return history.CREATE, paths.changed({}, after.document)
    members = paths.changed(before.document, after.document)
    return (history.UPDATE if members else ""), members


def _replaced(before: State | None, row: HistoryRow) -> Found | None:
    """The version before a change, if a release without history wrote it, or if it would expire soon after."""
    if before is None or before.document is None or before.version_tag is None or before.resource not in VERSIONED:
        return None
    age = row.milliseconds - ids.timestamp_of(before.version_tag)
    if before.author is not None and age < _KEPT_AGAIN_SECONDS * 1000:
        return None
    by = {} if before.author is None else {"by": before.author}
    kept = history.new(
        before.workspace_id, before.resource, before.record_id, before.version_tag, {**by, "changed": []}
    )
    kept.expires_at = row.expires_at
    is_kept = before.author is not None and age < history.KEPT_SECONDS * 1000
    return Found(kept, _version(before, kept), is_kept=is_kept)


def _change_of_credential(after: State, before: State | None, stream: dict[str, Any]) -> str:
    if before is None:
        return after.record_id  # a ULID of its creation
    # The time of the stream is in whole seconds, so a change would seem to come before the creation of that second.
    milliseconds = max(int(stream["ApproximateCreationDateTime"] * 1000), ids.timestamp_of(after.record_id) + 1)
    return history.change_at(milliseconds, after.resource, after.record_id, stream["SequenceNumber"])


def _agent_or_tool(image: Image) -> State:
    row: Any = (AgentRow if is_agent(image["item"]["S"]) else ToolRow).from_raw_data(image)
    if isinstance(row, ToolRow):
        return _state(row, "tools", row.tool_id)
    return _state(row, "agents", row.agent_id)


def _client(image: Image) -> State | None:
    if "document" not in image:
        return None  # a row that reserves an email, not a client
    row = ClientRow.from_raw_data(image)
    return _state(row, "clients", row.client_id)


def _organisation(image: Image) -> State:
    row = OrganisationRow.from_raw_data(image)
    return _state(row, "orgs", row.org_id)


def _webhook(image: Image) -> State | None:
    if "document" not in image or image["webhook_id"]["S"] == hosts.SORT_KEY:
        return None  # the lock of creations, or what is known of hosts
    row = WebhookRow.from_raw_data(image)
    return _state(row, "webhooks", row.webhook_id)


def _credential(image: Image) -> State | None:
    row = CredentialRow.from_raw_data(image)
    if row.resource is None:
        return None  # a visitor token, a session of the console, or the attempts to sign in
    members = {
        "name": row.name,
        "agentId": row.agent_id,
        "readOnly": row.read_only or None,
        "scopes": None if row.scopes is None else sorted(row.scopes),
        "expiresAt": None if row.ends_at is None else clock.iso(row.ends_at),
    }
    document = {name: value for name, value in members.items() if value is not None}
    return State(row.workspace, row.resource, row.credential_id, document, row.changed_by, None)


def _state(row: Any, resource: str, record_id: str) -> State:
    document = None if row.document is None else row.open()
    return State(row.workspace_id, resource, record_id, document, row.changed_by, row.version_tag)


_READERS: dict[str, Callable[[Image], State | None]] = {
    "agents": _agent_or_tool,
    "clients": _client,
    "organisations": _organisation,
    "webhooks": _webhook,
    "credentials": _credential,
}
