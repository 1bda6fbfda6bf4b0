"""Webhook endpoint storage: one encrypted document per endpoint."""

from typing import Any

from pynamodb.attributes import UnicodeAttribute

from chalicelib import clock, errors, ids, storage
from chalicelib.storage import Document, DocumentRow, deletion_hooks, json_equal
from chalicelib.webhooks import hosts, signature

# How long an old secret still signs deliveries after a rotation, and the maximum number of signing secrets.
_OVERLAP_MILLISECONDS = 24 * 60 * 60 * 1000
_MAX_SECRETS = 8
# Maximum endpoints per workspace. Fan-out reads all of them for every batch of changes.
MAX_ENDPOINTS = 50
LOCK = "lock"
PUSH, PULL = "push", "pull"
# Tolerance for clock skew between machines, and for stream times, which may be rounded to seconds.
_TOLERANCE_MILLISECONDS = 5_000


class WebhookRow(storage.AuthoredRow, DocumentRow):
    """An endpoint: `{url, events, enabled, description?, createdAt, importedAt?, secrets: [{secret, endsAt?}]}`.

    A pull endpoint has `kind` instead of `url`, and never uses its secret. Times are Unix times in milliseconds.
    """

    class Meta:
        table_name = storage.table("webhooks")

    lifecycle = storage.Lifecycle(
        "{workspace}", "{ULID}", owner="workspace", export="webhook", erasure="no: describes no person"
    )
    workspace = UnicodeAttribute(hash_key=True)
    webhook_id = UnicodeAttribute(range_key=True)


class _Item(WebhookRow):
    """An item in a workspace's partition: an endpoint, or the workspace's hosts."""

    @classmethod
    def from_raw_data(cls, data: dict[str, dict[str, Any]]) -> Any:
        row = hosts.HostsRow if data["webhook_id"]["S"] == hosts.SORT_KEY else WebhookRow
        return row.from_raw_data(data)


class EndpointsLock(storage.VersionedRow):
    """A row that every endpoint creation reads and writes, so one of two concurrent creations is retried."""

    class Meta:
        table_name = storage.table("webhooks")

    lifecycle = storage.Lifecycle(
        "{workspace}#lock",
        "lock",
        owner="workspace",
        export="no: contains no document",
        erasure="no: contains no document",
    )
    workspace = UnicodeAttribute(hash_key=True)
    webhook_id = UnicodeAttribute(range_key=True)


def key(workspace_id: str, webhook_id: str) -> storage.Key:
    """Return an endpoint's key, for `storage.find_many`."""
    return storage.Key(WebhookRow, workspace_id, webhook_id)


def find(workspace_id: str, webhook_id: str) -> WebhookRow | None:
    """Return an endpoint, or None. This costs one request."""
    return storage.find(WebhookRow, workspace_id, webhook_id)


def read(workspace_id: str, webhook_id: str) -> WebhookRow:
    """Return an endpoint. Raise NotFound if it does not exist."""
    return errors.require(find(workspace_id, webhook_id), "webhook")


def list_all(workspace_id: str) -> list[WebhookRow]:
    """Return a workspace's endpoints, oldest first. This costs one request per MB."""
    return storage.query(WebhookRow, workspace_id, WebhookRow.webhook_id < hosts.SORT_KEY)


def list_with_hosts(workspace_id: str) -> tuple[list[WebhookRow], hosts.Hosts]:
    """Return a workspace's endpoints, oldest first, and its host states. This costs one request per MB."""
    rows = storage.query(_Item, workspace_id)
    # The hosts row sorts after the endpoints.
    hosts_row = rows.pop() if rows and isinstance(rows[-1], hosts.HostsRow) else None
    return list(rows), hosts.read(hosts_row)


def create(workspace_id: str, document: Document) -> tuple[WebhookRow, str]:
    """Stage a new endpoint. Return it with its signing secret, which no later response contains.

    Raise LimitReached if there are `MAX_ENDPOINTS` already. A lock row serializes creations, so the limit is exact.
    """
    lock = storage.find(EndpointsLock, storage.join_key(workspace_id, LOCK), LOCK)
    used = len(list_all(workspace_id))
    if used >= MAX_ENDPOINTS:
        message = f"A workspace can have {MAX_ENDPOINTS} webhooks; delete one first."
        raise errors.LimitReached(message, "webhooks", MAX_ENDPOINTS, used)
    secret = signature.new_secret()
    row = WebhookRow(workspace_id, ids.new_id())
    row.seal({**document, "createdAt": clock.milliseconds(), "secrets": [{"secret": secret}]})
    storage.put(row)
    storage.put(lock or EndpointsLock(storage.join_key(workspace_id, LOCK), LOCK))
    return row, secret


def save(row: WebhookRow, before: Document, after: Document) -> None:
    """Stage a changed endpoint, or nothing if `after` equals `before`."""
    if not json_equal(before, after):
        row.seal(after)
        storage.put(row)


def rotate(row: WebhookRow) -> str:
    """Stage a new signing secret and return it. No later response contains it.

    The old secrets still sign deliveries for another 24 hours.
    """
    document, secret, now = row.open(), signature.new_secret(), clock.milliseconds()
    old = [{"endsAt": now + _OVERLAP_MILLISECONDS, **secret} for secret in document["secrets"] if _is_active(secret)]
    save(row, document, {**document, "secrets": [{"secret": secret}, *old][:_MAX_SECRETS]})
    return secret


def active_secrets(document: Document) -> list[str]:
    """Return the currently valid signing secrets, newest first."""
    return [secret["secret"] for secret in document["secrets"] if _is_active(secret)]


def is_pull(document: Document) -> bool:
    """Return whether an endpoint's events are read from its feed (`extensions/feeds`) instead of sent."""
    return document.get("kind") == PULL


def is_subscribed(document: Document, type_: str) -> bool:
    """Return whether an endpoint is enabled and subscribes to this event type."""
    return document["enabled"] and type_ in document["events"]


def existed_at(document: Document, milliseconds: int) -> bool:
    """Return whether an endpoint existed at a time (Unix ms). Newer endpoints get no events from a replayed change.

    An imported endpoint counts as existing since `importedAt`. The records imported with it are older, so they cause no
    events.
    """
    created: int = document["importedAt"] if "importedAt" in document else document["createdAt"]
    return created <= milliseconds + _TOLERANCE_MILLISECONDS


def delete(row: WebhookRow) -> None:
    """Stage the deletion of an endpoint."""
    storage.delete(row)
    deletion_hooks.stage(row.workspace, "webhooks", row.webhook_id)


def _is_active(secret: Document) -> bool:
    return "endsAt" not in secret or clock.milliseconds() < secret["endsAt"]
