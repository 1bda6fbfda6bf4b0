"""Where a workspace wants its events sent: one sealed document each."""

from pynamodb.attributes import NumberAttribute, UnicodeAttribute

from chalicelib import clock, errors, ids, storage
from chalicelib.storage import Document, DocumentRow, json_equal
from chalicelib.webhooks import signature

# How long a replaced secret signs beside its successor, and how many sign at most.
_OVERLAP_MILLISECONDS = 24 * 60 * 60 * 1000
_MOST_SECRETS = 8
# Endpoints of a workspace: fan-out reads them all for every batch of changes.
MOST = 50
_LOCK = "lock"
# How long a slow receiver's deliveries go through the lane that delays nobody else.
_SLOW_SECONDS = 600
# Clocks of different machines, and of the stream, which may tell whole seconds only.
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
        """Whether its receiver has been slow lately."""
        return self.slow_until is not None and clock.seconds() < self.slow_until


class EndpointThrottle(storage.Row):
    """The attribute of an endpoint's item that says how slow it is: to set it changes no version of the endpoint."""

    class Meta:
        table_name = storage.table("webhooks")

    workspace = UnicodeAttribute(hash_key=True)
    webhook_id = UnicodeAttribute(range_key=True)
    slow_until = NumberAttribute(null=True)


class EndpointsLock(storage.VersionedRow):
    """A row that every creation of an endpoint reads first, and writes: of two at once, one runs again."""

    class Meta:
        table_name = storage.table("webhooks")

    workspace = UnicodeAttribute(hash_key=True)
    webhook_id = UnicodeAttribute(range_key=True)


def key(workspace_id: str, webhook_id: str) -> storage.Key:
    """What to ask `storage.find_many` for."""
    return storage.Key(WebhookRow, workspace_id, webhook_id)


def find(workspace_id: str, webhook_id: str) -> WebhookRow | None:
    """The endpoint, or None. One request."""
    return storage.find(WebhookRow, workspace_id, webhook_id)


def read(workspace_id: str, webhook_id: str) -> WebhookRow:
    """The endpoint. Raises NotFound."""
    row = find(workspace_id, webhook_id)
    if row is None:
        raise errors.NotFound.of("webhook")
    return row


def listed(workspace_id: str) -> list[WebhookRow]:
    """All endpoints of a workspace, oldest first. One request for each MB."""
    return storage.query(WebhookRow, workspace_id)


def create(workspace_id: str, document: Document) -> tuple[WebhookRow, str]:
    """Stage a new endpoint; returns it with its signing secret, which is shown this once.

    Raises LimitReached beyond `MOST`. Creators take turns at the workspace's lock row, so the limit is exact.
    """
    lock = storage.find(EndpointsLock, storage.key(workspace_id, _LOCK), _LOCK)
    used = len(listed(workspace_id))
    if used >= MOST:
        raise errors.LimitReached(f"A workspace may have {MOST} webhooks.", "webhooks", MOST, used)
    secret = signature.new_secret()
    row = WebhookRow(workspace_id, ids.new_id())
    row.seal({**document, "createdAt": clock.milliseconds(), "secrets": [{"secret": secret}]})
    storage.put(row)
    storage.put(lock or EndpointsLock(storage.key(workspace_id, _LOCK), _LOCK))
    return row, secret


def save(row: WebhookRow, before: Document, after: Document) -> None:
    """Stage a changed endpoint. No change is no write."""
    if not json_equal(before, after):
        row.seal(after)
        storage.put(row)


def rotate(row: WebhookRow) -> str:
    """Stage a new signing secret, which is shown this once; those before it sign for a day more."""
    document, secret, now = row.open(), signature.new_secret(), clock.milliseconds()
    old = [{"endsAt": now + _OVERLAP_MILLISECONDS, **one} for one in document["secrets"] if _signs(one)]
    save(row, document, {**document, "secrets": [{"secret": secret}, *old][:_MOST_SECRETS]})
    return secret


def secrets(document: Document) -> list[str]:
    """The secrets to sign with now, the newest first."""
    return [one["secret"] for one in document["secrets"] if _signs(one)]


def wants(document: Document, type_: str) -> bool:
    """Whether an endpoint is to be sent events of this type now."""
    return document["enabled"] and type_ in document["events"]


def was_there(document: Document, milliseconds: int) -> bool:
    """Whether an endpoint was there when something happened: a change that is read again is no news to a new one."""
    created: int = document["createdAt"]
    return created <= milliseconds + _TOLERANCE_MILLISECONDS


def move_to_slow_queue(workspace_id: str, webhook_id: str) -> None:
    """Send an endpoint's deliveries through the slow queue for ten minutes. Raises ConditionFailed if it is gone."""
    until = clock.seconds() + _SLOW_SECONDS
    with storage.unit_of_work():
        row = EndpointThrottle(workspace_id, webhook_id)
        storage.update(row, [EndpointThrottle.slow_until.set(until)], EndpointThrottle.webhook_id.exists())


def delete(row: WebhookRow) -> None:
    """Stage the deletion of an endpoint."""
    storage.delete(row)


def _signs(secret: Document) -> bool:
    return "endsAt" not in secret or clock.milliseconds() < secret["endsAt"]
