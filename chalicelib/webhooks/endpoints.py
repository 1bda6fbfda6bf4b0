"""Webhook endpoints in the database: one sealed document each."""

from pynamodb.attributes import NumberAttribute, UnicodeAttribute

from chalicelib import clock, errors, ids, storage
from chalicelib.storage import Document, DocumentRow, json_equal
from chalicelib.webhooks import signature

# How long an old secret still signs after a rotation, and how many secrets sign at most.
_OVERLAP_MILLISECONDS = 24 * 60 * 60 * 1000
_MAX_SECRETS = 8
# Per workspace. Fan-out reads all of them for every batch of changes.
MAX_ENDPOINTS = 50
_LOCK = "lock"
# How long an endpoint stays on the slow queue.
_SLOW_SECONDS = 600
# Clock skew between machines, and the stream's times, which may be rounded to seconds.
_TOLERANCE_MILLISECONDS = 5_000


class WebhookRow(DocumentRow):
    """An endpoint: `{url, events, enabled, description?, createdAt, secrets: [{secret, endsAt?}]}`, times in ms."""

    class Meta:
        table_name = storage.table("webhooks")

    workspace = UnicodeAttribute(hash_key=True)
    webhook_id = UnicodeAttribute(range_key=True)
    slow_until = NumberAttribute(null=True)

    @property
    def is_slow(self) -> bool:
        """Whether the endpoint is on the slow queue."""
        return self.slow_until is not None and clock.seconds() < self.slow_until


class EndpointThrottle(storage.Row):
    """The throttle attribute of an endpoint's item. A row class of its own, so that a write keeps the version tag."""

    class Meta:
        table_name = storage.table("webhooks")

    workspace = UnicodeAttribute(hash_key=True)
    webhook_id = UnicodeAttribute(range_key=True)
    slow_until = NumberAttribute(null=True)


class EndpointsLock(storage.VersionedRow):
    """A row that every creation of an endpoint reads and writes: of two concurrent creations, one is retried."""

    class Meta:
        table_name = storage.table("webhooks")

    workspace = UnicodeAttribute(hash_key=True)
    webhook_id = UnicodeAttribute(range_key=True)


def key(workspace_id: str, webhook_id: str) -> storage.Key:
    """Return the key of an endpoint, for `storage.find_many`."""
    return storage.Key(WebhookRow, workspace_id, webhook_id)


def find(workspace_id: str, webhook_id: str) -> WebhookRow | None:
    """Return an endpoint, or None. One request."""
    return storage.find(WebhookRow, workspace_id, webhook_id)


def read(workspace_id: str, webhook_id: str) -> WebhookRow:
    """Return an endpoint. Raises NotFound."""
    row = find(workspace_id, webhook_id)
    if row is None:
        raise errors.NotFound.of("webhook")
    return row


def list_all(workspace_id: str) -> list[WebhookRow]:
    """Return all endpoints of a workspace, oldest first. One request per MB."""
    return storage.query(WebhookRow, workspace_id)


def create(workspace_id: str, document: Document) -> tuple[WebhookRow, str]:
    """Stage a new endpoint; return it with its signing secret, which is shown only now.

    Raises LimitReached above `MAX_ENDPOINTS`. The workspace's lock row serializes creations, so the limit is exact.
    """
    lock = storage.find(EndpointsLock, storage.key(workspace_id, _LOCK), _LOCK)
    used = len(list_all(workspace_id))
    if used >= MAX_ENDPOINTS:
        message = f"A workspace may have {MAX_ENDPOINTS} webhooks; delete one first."
        raise errors.LimitReached(message, "webhooks", MAX_ENDPOINTS, used)
    secret = signature.new_secret()
    row = WebhookRow(workspace_id, ids.new_id())
    row.seal({**document, "createdAt": clock.milliseconds(), "secrets": [{"secret": secret}]})
    storage.put(row)
    storage.put(lock or EndpointsLock(storage.key(workspace_id, _LOCK), _LOCK))
    return row, secret


def save(row: WebhookRow, before: Document, after: Document) -> None:
    """Stage a changed endpoint. Stages nothing if `after` is the same as `before`."""
    if not json_equal(before, after):
        row.seal(after)
        storage.put(row)


def rotate(row: WebhookRow) -> str:
    """Stage a new signing secret and return it; it is shown only now. The old secrets sign for another 24 hours."""
    document, secret, now = row.open(), signature.new_secret(), clock.milliseconds()
    old = [{"endsAt": now + _OVERLAP_MILLISECONDS, **one} for one in document["secrets"] if _is_active(one)]
    save(row, document, {**document, "secrets": [{"secret": secret}, *old][:_MAX_SECRETS]})
    return secret


def active_secrets(document: Document) -> list[str]:
    """Return the secrets to sign with now, newest first."""
    return [one["secret"] for one in document["secrets"] if _is_active(one)]


def is_subscribed(document: Document, type_: str) -> bool:
    """Whether an endpoint is enabled and subscribes to this type of event."""
    return document["enabled"] and type_ in document["events"]


def existed_at(document: Document, milliseconds: int) -> bool:
    """Whether an endpoint existed at a time (Unix milliseconds). A replayed change must not reach a newer endpoint."""
    created: int = document["createdAt"]
    return created <= milliseconds + _TOLERANCE_MILLISECONDS


def move_to_slow_queue(workspace_id: str, webhook_id: str) -> None:
    """Send an endpoint's deliveries to the slow queue for ten minutes. Raises ConditionFailed if it was deleted."""
    until = clock.seconds() + _SLOW_SECONDS
    with storage.unit_of_work():
        row = EndpointThrottle(workspace_id, webhook_id)
        storage.update(row, [EndpointThrottle.slow_until.set(until)], EndpointThrottle.webhook_id.exists())


def delete(row: WebhookRow) -> None:
    """Stage the deletion of an endpoint."""
    storage.delete(row)


def _is_active(secret: Document) -> bool:
    return "endsAt" not in secret or clock.milliseconds() < secret["endsAt"]
