"""Workspaces in the database, and the credentials issued to them (§5)."""

from collections.abc import Collection, Iterator
from typing import Any, NamedTuple

from pynamodb.attributes import UnicodeAttribute

from chalicelib import clock, errors, ids, storage
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.queues import tasks
from chalicelib.storage import Document, DocumentRow, json_equal, keyring

_WORKSPACE = "workspace"
_CACHE_MILLISECONDS = 60_000
_CACHE_SIZE = 10_000
# By workspace id: the Unix milliseconds of the last read, and `retentionDays`.
_known_retention: dict[str, tuple[int, int | None]] = {}
# Seconds. The message that applies a changed period is sent before the commit, and arrives when no process has the old
# period in its cache.
_RETENTION_DELAY_SECONDS = 90
_ACTIVE = "active"  # the name of the missing status
# The statuses of other workspaces. A suspension is complete when no request that began before it can still be running.
SUSPENDING, SUSPENDED, DELETING, IMPORTING = "suspending", "suspended", "deleting", "importing"


class WorkspaceRow(DocumentRow):
    """A workspace. Its document is `{name, createdAt, workspaceSecret, retentionDays?}`."""

    class Meta:
        table_name = storage.table("workspaces")

    lifecycle = storage.Lifecycle(
        "{workspace}", "workspace", owner="workspace", export="workspace", erasure="no: describes no person"
    )
    workspace = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True, default=_WORKSPACE)
    # Absent while the workspace is in use. Requests read the mark of their credential instead (`credentials.suspend`).
    status = UnicodeAttribute(null=True)
    # During an import: the hash of the file, and the number of imported lines.
    imported = UnicodeAttribute(null=True)


class NewWorkspace(NamedTuple):
    """The result of `create`. The key and tokens in it cannot be read again."""

    workspace_id: str
    workspace_key: str
    access_token: str
    workspace_secret: str

    def __repr__(self) -> str:
        return f"NewWorkspace({self.workspace_id})"


@storage.in_unit_of_work
def create(
    name: str, key_lifetime: int | None = credentials.KEY_LIFETIME, token_lifetime: int = credentials.TOKEN_LIFETIME
) -> NewWorkspace:
    """Create a workspace with a workspace key and a v3 access token. Lifetimes are in seconds; None means no expiry."""
    keyring.ensure_data_key()
    workspace_id, secret = ids.new_id(), tokens.new_webhook_secret()
    row = WorkspaceRow(workspace_id)
    row.seal({"name": name, "createdAt": clock.seconds(), "workspaceSecret": secret})
    key = credentials.prepare(workspace_id, tokens.WORKSPACE, "first key", key_lifetime)
    access = credentials.prepare(workspace_id, tokens.ACCESS, "first token", token_lifetime)
    storage.put(row)
    credentials.stage(key)
    credentials.stage(access)
    return NewWorkspace(workspace_id, key.token, access.token, secret)


def key(workspace_id: str) -> storage.Key:
    """Return the key of the workspace, for `storage.find_many`."""
    return storage.Key(WorkspaceRow, workspace_id, _WORKSPACE)


def read(workspace_id: str) -> WorkspaceRow:
    """Return a workspace. One request. Raise NotFound."""
    return errors.require(storage.find(WorkspaceRow, workspace_id, _WORKSPACE), "workspace")


def save(row: WorkspaceRow, before: Document, after: Document) -> None:
    """Stage a changed workspace. An unchanged document is not written."""
    if not json_equal(before, after):
        row.seal(after)
        storage.put(row)
        if before.get("retentionDays") != after.get("retentionDays"):
            apply_retention(row.workspace)


def apply_retention(workspace_id: str, agent_id: str | None = None) -> None:
    """Send the task that applies a changed number of days to conversations: of an agent, or of the workspace.

    It is sent before the commit, so that no crash loses it. If the commit fails, the task changes nothing.
    """
    task = tasks.ApplyRetention(workspace_id, agent_id, is_only=agent_id is not None)
    tasks.send(workspace_id, [task], _RETENTION_DELAY_SECONDS)


def retention_days(workspace_id: str) -> int | None:
    """Return how many days conversations are kept, None for no limit. Cached for a minute, otherwise one request."""
    now = clock.milliseconds()
    since, days = _known_retention.get(workspace_id, (0, None))
    if not 0 <= now - since < _CACHE_MILLISECONDS:
        days = read(workspace_id).open().get("retentionDays")
        if len(_known_retention) >= _CACHE_SIZE:
            _known_retention.clear()
        _known_retention[workspace_id] = now, days
    return days


class WrongStatus(errors.Conflict):
    """The status of the workspace does not allow the operator's command."""

    code = "WRONG_STATUS"


@storage.in_unit_of_work
def change_status(workspace_id: str, allowed: Collection[str | None], status: str | None) -> None:
    """Stage another status. Raise NotFound, and WrongStatus if the present one is not in `allowed`."""
    row = read(workspace_id)
    if row.status not in allowed:
        needed = " or ".join(one or _ACTIVE for one in allowed)
        raise WrongStatus(f"The workspace is {row.status or _ACTIVE}; the command needs {needed}.")
    row.status, row.imported = status, None
    storage.put(row)


@storage.in_unit_of_work
def rotate_secret(workspace_id: str) -> str:
    """Stage a new `workspaceSecret` and return it. The next deliveries have it. Raise NotFound."""
    row = read(workspace_id)
    secret = tokens.new_webhook_secret()
    save(row, before := row.open(), {**before, "workspaceSecret": secret})
    return secret


def require_active(workspace_id: str) -> None:
    """Raise NotFound for an unknown workspace, and WorkspaceSuspended for one that is not in use. One request."""
    if read(workspace_id).status is not None:
        raise errors.WorkspaceSuspended()


def stage_active(workspace_id: str) -> None:
    """Stage the condition that a workspace is in use. The commit raises NotFound, and WorkspaceSuspended."""
    is_active = WorkspaceRow.workspace.exists() & WorkspaceRow.status.does_not_exist()
    storage.require(key(workspace_id), is_active, lambda _: _not_active(workspace_id))


def list_all() -> list[WorkspaceRow]:
    """Return all workspaces, oldest first. Scans the whole table; for operators' commands only."""
    return sorted(iterate_all(), key=lambda row: row.workspace)


def iterate_all() -> Iterator[WorkspaceRow]:
    """Yield all workspaces, in no order. Scans the table up to the last one that the caller uses."""
    return storage.scan(WorkspaceRow, WorkspaceRow.item == _WORKSPACE)


@storage.in_unit_of_work
def issue(workspace_id: str, kind: str, name: str, lifetime: int | None, **rights: Any) -> credentials.NewCredential:
    """Issue a credential of a workspace; `lifetime` in seconds, `rights` as in `prepare`.

    Raise NotFound for an unknown workspace, and WorkspaceSuspended for a suspended one.
    """
    issued = credentials.prepare(workspace_id, kind, name, lifetime, **rights)
    stage_active(workspace_id)
    credentials.stage(issued)
    return issued


def _not_active(workspace_id: str) -> errors.ApiError:
    """Return the error of a failed condition, which does not say whether the workspace exists."""
    row = storage.find(WorkspaceRow, workspace_id, _WORKSPACE)
    return errors.WorkspaceSuspended() if row else errors.NotFound.of("workspace")
