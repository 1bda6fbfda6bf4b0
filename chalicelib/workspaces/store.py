"""Workspace storage, and the credentials issued to workspaces (§5)."""

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
# Time of the last read in Unix milliseconds, and `retentionDays`, keyed by workspace id.
_known_retention: dict[str, tuple[int, int | None]] = {}
# Delay of the task that applies changed retention days. The task is sent before the commit, and must run after all
# cached old values have expired.
_RETENTION_DELAY_SECONDS = 90
_ACTIVE = "active"  # the status while the attribute is absent
# The other statuses. A suspension is complete when no request that began before it can still be running.
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
    # Absent while the workspace is active. Requests check their credential's own flag instead (`credentials.suspend`).
    status = UnicodeAttribute(null=True)
    # Set during an import: the file hash, and the number of imported lines.
    imported = UnicodeAttribute(null=True)


class NewWorkspace(NamedTuple):
    """The result of `create`. Its key and tokens cannot be read again."""

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
    """Create a workspace with a workspace key and an access token. Lifetimes are in seconds, or None for no expiry."""
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
    """Return a workspace's database key, for `storage.find_many`."""
    return storage.Key(WorkspaceRow, workspace_id, _WORKSPACE)


def read(workspace_id: str) -> WorkspaceRow:
    """Return a workspace. Raise NotFound if it does not exist. This costs one request."""
    return errors.require(storage.find(WorkspaceRow, workspace_id, _WORKSPACE), "workspace")


def save(row: WorkspaceRow, before: Document, after: Document) -> None:
    """Stage a changed workspace. An unchanged document is not written."""
    if not json_equal(before, after):
        row.seal(after)
        storage.put(row)
        if before.get("retentionDays") != after.get("retentionDays"):
            apply_retention(row.workspace)


def apply_retention(workspace_id: str, agent_id: str | None = None) -> None:
    """Send the task that applies changed retention days to an agent's conversations, or to the whole workspace.

    The task is sent before the commit, so that a crash cannot lose it. If the commit fails, the task changes nothing.
    """
    task = tasks.ApplyRetention(workspace_id, agent_id, is_only=agent_id is not None)
    tasks.send(workspace_id, [task], _RETENTION_DELAY_SECONDS)


def retention_days(workspace_id: str) -> int | None:
    """Return how many days conversations are kept, or None for no limit. The result is cached for one minute."""
    now = clock.milliseconds()
    since, days = _known_retention.get(workspace_id, (0, None))
    if not 0 <= now - since < _CACHE_MILLISECONDS:
        days = read(workspace_id).open().get("retentionDays")
        if len(_known_retention) >= _CACHE_SIZE:
            _known_retention.clear()
        _known_retention[workspace_id] = now, days
    return days


class WrongStatus(errors.Conflict):
    """The workspace's status does not allow the operator's command."""

    code = "WRONG_STATUS"


@storage.in_unit_of_work
def change_status(workspace_id: str, allowed: Collection[str | None], status: str | None) -> None:
    """Stage a new status. Raise NotFound, or WrongStatus if the current status is not in `allowed`."""
    row = read(workspace_id)
    if row.status not in allowed:
        required = " or ".join(allowed_status or _ACTIVE for allowed_status in allowed)
        raise WrongStatus(f"The workspace is {row.status or _ACTIVE}; the command requires that it is {required}.")
    row.status, row.imported = status, None
    storage.put(row)


@storage.in_unit_of_work
def rotate_secret(workspace_id: str) -> str:
    """Stage a new `workspaceSecret` and return it. The next deliveries contain it. Raise NotFound."""
    row = read(workspace_id)
    secret = tokens.new_webhook_secret()
    save(row, before := row.open(), {**before, "workspaceSecret": secret})
    return secret


def require_active(workspace_id: str) -> None:
    """Raise NotFound for an unknown workspace, and WorkspaceSuspended for an inactive one. This costs one request."""
    if read(workspace_id).status is not None:
        raise errors.WorkspaceSuspended()


def stage_active(workspace_id: str) -> None:
    """Stage the condition that a workspace is active. The commit raises errors as `require_active` does."""
    is_active = WorkspaceRow.workspace.exists() & WorkspaceRow.status.does_not_exist()
    storage.require(key(workspace_id), is_active, lambda _: _not_active(workspace_id))


def list_all() -> list[WorkspaceRow]:
    """Return all workspaces, oldest first. This scans the whole table, so only operator commands use it."""
    return sorted(iterate_all(), key=lambda row: row.workspace)


def iterate_all() -> Iterator[WorkspaceRow]:
    """Yield all workspaces, in no particular order. The table is scanned only as far as the caller iterates."""
    return storage.scan(WorkspaceRow, WorkspaceRow.item == _WORKSPACE)


@storage.in_unit_of_work
def issue(workspace_id: str, kind: str, name: str, lifetime: int | None, **rights: Any) -> credentials.NewCredential:
    """Issue a credential for a workspace. `lifetime` is in seconds, and `rights` are passed to `credentials.prepare`.

    Raise NotFound for an unknown workspace, and WorkspaceSuspended for an inactive one.
    """
    issued = credentials.prepare(workspace_id, kind, name, lifetime, **rights)
    stage_active(workspace_id)
    credentials.stage(issued)
    return issued


def _not_active(workspace_id: str) -> errors.ApiError:
    """Return the error for a failed condition. A read determines whether the workspace exists."""
    row = storage.find(WorkspaceRow, workspace_id, _WORKSPACE)
    return errors.WorkspaceSuspended() if row else errors.NotFound.of("workspace")
