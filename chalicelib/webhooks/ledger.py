"""The ledger: subscribed events, and their deliveries to endpoints. Both expire after `KEPT_DAYS` (`retry_policy`).

A conditional write claims a delivery before it is sent, and a claimed delivery is never sent again. Therefore, an
endpoint receives an event at most once, although the stream and the queue deliver at least once (§6 rule 3). A claimed
delivery without an outcome is listed as `unknown`, because its process ended before it stored the outcome.

DynamoDB limits the throughput per partition. Therefore, a workspace's events are spread over 32 partitions, and an
endpoint's deliveries over 8 partitions. A sparse index contains only failed deliveries.
"""

import heapq
import math
import zlib
from collections.abc import Iterable, Iterator

from pynamodb.attributes import NumberAttribute, TTLAttribute, UnicodeAttribute
from pynamodb.indexes import AllProjection, GlobalSecondaryIndex

from chalicelib import clock, errors, ids, storage
from chalicelib.sending.sender import Outcome
from chalicelib.storage import Document, SealedRow
from chalicelib.webhooks import retry_policy
from chalicelib.webhooks.events import Event

_DAY_SECONDS = 24 * 60 * 60
# Maximum deliveries that are read for a page of a filtered list. The cursor continues after them.
_MAX_SCANNED = 1_000
_PARTITIONS = 8

PENDING, DELIVERED, FAILED, UNKNOWN, EXPIRED = STATUSES = ("pending", "delivered", "failed", "unknown", "expired")


class EventRow(SealedRow):
    """An event: `{type, payload, messageId?}`, the request body except for `workspaceSecret`, and a header's value."""

    class Meta:
        table_name = storage.table("events")

    lifecycle = storage.Lifecycle(
        "{workspace}#{digit}", "{ULID}", owner="workspace", export="no: expires", erasure="events"
    )
    workspace = UnicodeAttribute(hash_key=True)
    event_id = UnicodeAttribute(range_key=True)
    expires_at = TTLAttribute()


class ByFailure(GlobalSecondaryIndex["DeliveryRow"]):  # type: ignore[no-untyped-call]
    """A sparse index of failed deliveries. Other deliveries lack its partition key."""

    class Meta:
        index_name = "by_failure"
        projection = AllProjection()

    failed_webhook = UnicodeAttribute(hash_key=True)
    delivery_id = UnicodeAttribute(range_key=True)


class DeliveryRow(storage.TaggedRow):
    """A delivery of an event to an endpoint. Its id is the event's id, unless an API request created the delivery."""

    class Meta:
        table_name = storage.table("deliveries")

    lifecycle = storage.Lifecycle(
        "{workspace}#{webhook}#{number}",
        "{ULID}",
        owner="workspace",
        export="no: expires",
        erasure="no: contains only ids and outcomes",
    )
    webhook = UnicodeAttribute(hash_key=True)
    delivery_id = UnicodeAttribute(range_key=True)
    event_id = UnicodeAttribute()
    type = UnicodeAttribute()
    # The event's agent, for the usage report. It is absent if the event belongs to no agent.
    agent_id = UnicodeAttribute(null=True)
    outcome = UnicodeAttribute(null=True)
    claim = UnicodeAttribute(null=True)
    response_status = NumberAttribute(null=True)
    duration_ms = NumberAttribute(null=True)
    error = UnicodeAttribute(null=True)
    failed_webhook = UnicodeAttribute(null=True)
    by_failure = ByFailure()
    expires_at = TTLAttribute()

    @property
    def created_at(self) -> int:
        """Return the time of the event, or of the API request that created the delivery, in Unix milliseconds."""
        return ids.timestamp_of(self.delivery_id)

    @property
    def status(self) -> str:
        """Return the current status, one of `STATUSES`."""
        if self.outcome is not None:
            return str(self.outcome)
        now = clock.milliseconds()
        if self.claim is not None:
            return UNKNOWN if now > ids.timestamp_of(self.claim) + retry_policy.CLAIM_SECONDS * 1000 else PENDING
        return EXPIRED if now > self.created_at + retry_policy.QUEUE_RETENTION_DAYS * _DAY_SECONDS * 1000 else PENDING


def save_events(events: Iterable[Event]) -> None:
    """Store distinct events. Storing an event again has no effect. This costs one request per 25 events."""
    storage.save_many([_row(event) for event in events])


def _row(event: Event) -> EventRow:
    row = EventRow(
        _partition(event.workspace_id, event.id),
        event.id,
        expires_at=clock.to_datetime(clock.seconds() + retry_policy.KEPT_DAYS * _DAY_SECONDS),
    )
    message_id = {} if event.message_id is None else {"messageId": event.message_id}
    row.seal({"type": event.type, "payload": event.payload, **message_id})
    return row


def event_key(workspace_id: str, event_id: str) -> storage.Key:
    """Return an event's key, for `storage.find_many`."""
    return storage.Key(EventRow, _partition(workspace_id, event_id), event_id, consistent=False)


def find_event(workspace_id: str, event_id: str) -> Document | None:
    """Return an event's document, or None after it has expired."""
    row = storage.find(EventRow, _partition(workspace_id, event_id), event_id)
    return row.open() if row else None


def _partition(workspace_id: str, event_id: str) -> str:
    return storage.join_key(workspace_id, event_id[-1:])  # the last character contains five hashed or random bits


def list_events(partition: str, after: str | None, limit: int) -> list[EventRow]:
    """Return up to `limit` events from one of `event_partitions`, oldest first, starting after the id `after`."""
    return storage.query(EventRow, partition, EventRow.event_id > after if after else None, limit=limit)


def delete_events(workspace_id: str, event_ids: Iterable[str]) -> None:
    """Delete events immediately. A queued delivery of a deleted event expires, and the ledger keeps its claim."""
    storage.delete_many([EventRow(_partition(workspace_id, event_id), event_id) for event_id in event_ids])


def event_partitions(workspace_id: str) -> list[str]:
    """Return the partitions that contain a workspace's events."""
    return [_partition(workspace_id, ids.id_at(0, digit)) for digit in range(32)]


def _partitions(workspace_id: str, webhook_id: str) -> list[str]:
    """Return the partitions that contain an endpoint's deliveries."""
    return [storage.join_key(workspace_id, webhook_id, str(number)) for number in range(_PARTITIONS)]


def _partition_of(workspace_id: str, webhook_id: str, delivery_id: str) -> str:
    return _partitions(workspace_id, webhook_id)[zlib.crc32(delivery_id.encode()) % _PARTITIONS]


def new(workspace_id: str, webhook_id: str, event_id: str, type_: str, delivery_id: str) -> DeliveryRow:
    """Return a new delivery without storing it."""
    return DeliveryRow(
        _partition_of(workspace_id, webhook_id, delivery_id),
        delivery_id,
        event_id=event_id,
        type=type_,
        expires_at=clock.to_datetime(clock.seconds() + retry_policy.KEPT_DAYS * _DAY_SECONDS),
    )


def stage_event(event: Event) -> None:
    """Stage an event in the request's unit of work."""
    storage.put(_row(event))


class _AlreadyClaimed(errors.Conflict):
    """Another message, or an earlier attempt at this message, already holds the claim."""


def claim(row: DeliveryRow) -> bool:
    """Claim a delivery with a conditional write. Return False if it is already claimed.

    The caller must post a claimed delivery at most once.
    """
    row.claim = ids.new_id()
    try:
        with storage.unit_of_work():
            storage.put(row, DeliveryRow.claim.does_not_exist(), _AlreadyClaimed())
    except _AlreadyClaimed:
        return False
    return True


def record_outcome(row: DeliveryRow, outcome: Outcome) -> None:
    """Record the outcome of a claimed delivery. Raise ConditionFailed if another message holds the claim."""
    _record_outcome(row, FAILED if outcome.error else DELIVERED, outcome)


def expire(row: DeliveryRow, reason: str) -> None:
    """Record why a claimed delivery is not sent. Raise ConditionFailed if another message holds the claim."""
    _record_outcome(row, EXPIRED, Outcome(None, reason, 0))


def _record_outcome(row: DeliveryRow, status: str, outcome: Outcome) -> None:
    actions = [DeliveryRow.outcome.set(status), DeliveryRow.duration_ms.set(outcome.duration_ms)]
    if outcome.status is not None:
        actions.append(DeliveryRow.response_status.set(outcome.status))
    if outcome.error is not None:
        actions.append(DeliveryRow.error.set(outcome.error))
    if status == FAILED:
        actions.append(DeliveryRow.failed_webhook.set(row.webhook))
    with storage.unit_of_work():
        storage.update(row, actions, DeliveryRow.claim == row.claim)


def read(workspace_id: str, webhook_id: str, delivery_id: str) -> DeliveryRow:
    """Return a delivery. Raise NotFound if it does not exist."""
    row = storage.find(DeliveryRow, _partition_of(workspace_id, webhook_id, delivery_id), delivery_id)
    return errors.require(row, "delivery")


def list_all(workspace_id: str, webhook_id: str) -> Iterator[DeliveryRow]:
    """Yield all deliveries to an endpoint, even after its deletion."""
    for partition in _partitions(workspace_id, webhook_id):
        yield from storage.iterate(DeliveryRow, partition)


def list_page(
    workspace_id: str, webhook_id: str, before: str | None, limit: int, status: str | None
) -> tuple[list[DeliveryRow], str | None]:
    """Return up to `limit` of an endpoint's deliveries, newest first, and the next page's `before`, if any.

    Failed deliveries have an index. For any other `status`, a page searches up to 1,000 deliveries, so it may be short
    or empty even if more pages follow. These statuses have no index, because they change with time, or apply to most
    deliveries. The list is eventually consistent.
    """
    index = "by_failure" if status == FAILED else None
    max_scanned = limit if status in (None, FAILED) else _MAX_SCANNED
    # The expected number of a page's deliveries per partition, plus three standard deviations. Therefore, a page
    # usually costs one request per partition, unless its deliveries are rare.
    share = limit / _PARTITIONS
    size = math.ceil(share + 3 * math.sqrt(share))
    sorted_rows = [_newest_first(partition, before, size, index) for partition in _partitions(workspace_id, webhook_id)]
    listed: list[DeliveryRow] = []
    last = None
    for scanned, row in enumerate(heapq.merge(*sorted_rows, key=lambda row: row.delivery_id, reverse=True)):
        has_status = status in (None, row.status)
        if scanned == max_scanned or (has_status and len(listed) == limit):
            return listed, last
        if has_status:
            listed.append(row)
        last = row.delivery_id
    return listed, None


def _newest_first(partition: str, before: str | None, size: int, index: str | None) -> Iterator[DeliveryRow]:
    """Yield a partition's deliveries, newest first. Send each request only when its first delivery is needed.

    The first request reads `size` deliveries. Each further request reads four times as many as the last.
    """
    while True:
        condition = DeliveryRow.delivery_id < before if before else None
        rows = storage.query(
            DeliveryRow, partition, condition, limit=size, index=index, newest_first=True, consistent=False
        )
        yield from rows
        if len(rows) < size:
            return
        before = rows[-1].delivery_id
        size *= 4
