"""The ledger: every event that somebody wants, and every delivery of one to an endpoint, for thirty days.

A delivery is claimed by a conditional write before it is sent, and a claim is never sent again: at most
one POST for an event and an endpoint, out of a stream and a queue that both repeat themselves (§6 rule 3).
A claim without an outcome is `unknown`: the process ended between the two.
"""

from collections.abc import Iterable

from pynamodb.attributes import NumberAttribute, TTLAttribute, UnicodeAttribute

from chalicelib import clock, errors, ids, storage
from chalicelib.storage import Document, SealedRow
from chalicelib.webhooks.events import Event
from chalicelib.webhooks.sender import Outcome

_KEPT_SECONDS = 30 * 24 * 60 * 60
# Longer than any POST may take: a claim without an outcome will not get one after this.
_CLAIM_MILLISECONDS = 60_000
# As long as the queues keep a message (infra/template.yaml): what nobody has claimed by then is not sent any more.
_WAIT_MILLISECONDS = 4 * 24 * 60 * 60 * 1000
# A page of a filtered list looks at so many deliveries at most; its cursor goes on behind them.
_MOST_LOOKED_AT = 1_000

PENDING, DELIVERED, FAILED, UNKNOWN, EXPIRED = STATUSES = ("pending", "delivered", "failed", "unknown", "expired")


class EventRow(SealedRow):
    """An event: `{type, payload}`, the body without the secret."""

    class Meta:
        table_name = storage.table("events")

    workspace = UnicodeAttribute(hash_key=True)
    event_id = UnicodeAttribute(range_key=True)
    expires_at = TTLAttribute()


class DeliveryRow(storage.TaggedRow):
    """A delivery of an event to an endpoint; its id is the event's unless somebody has asked for it."""

    class Meta:
        table_name = storage.table("deliveries")

    webhook = UnicodeAttribute(hash_key=True)
    delivery_id = UnicodeAttribute(range_key=True)
    event_id = UnicodeAttribute()
    type = UnicodeAttribute()
    outcome = UnicodeAttribute(null=True)
    claim = UnicodeAttribute(null=True)
    response_status = NumberAttribute(null=True)
    duration_ms = NumberAttribute(null=True)
    error = UnicodeAttribute(null=True)
    expires_at = TTLAttribute()

    @property
    def created_at(self) -> int:
        """When its event happened, or when it was asked for, in Unix milliseconds."""
        return ids.timestamp_of(self.delivery_id)

    @property
    def status(self) -> str:
        """One of `STATUSES`, as it is now."""
        if self.outcome is not None:
            return str(self.outcome)
        now = clock.milliseconds()
        if self.claim is not None:
            return UNKNOWN if now > ids.timestamp_of(self.claim) + _CLAIM_MILLISECONDS else PENDING
        return EXPIRED if now > self.created_at + _WAIT_MILLISECONDS else PENDING


def record(events: Iterable[Event]) -> None:
    """Keep events, each another; once more is the same. One request for each 25."""
    storage.save_many([_row(event) for event in events])


def _row(event: Event) -> EventRow:
    row = EventRow(event.workspace_id, event.id, expires_at=clock.to_datetime(clock.seconds() + _KEPT_SECONDS))
    row.seal({"type": event.type, "payload": event.payload})
    return row


def event_key(workspace_id: str, event_id: str) -> storage.Key:
    """What to ask `storage.find_many` for."""
    return storage.Key(EventRow, workspace_id, event_id)


def find_event(workspace_id: str, event_id: str) -> Document | None:
    """An event as `{type, payload}`, None once it has expired."""
    row = storage.find(EventRow, workspace_id, event_id)
    return row.open() if row else None


def new(workspace_id: str, webhook_id: str, event_id: str, type_: str, delivery_id: str) -> DeliveryRow:
    """A delivery that is not stored yet."""
    return DeliveryRow(
        storage.key(workspace_id, webhook_id),
        delivery_id,
        event_id=event_id,
        type=type_,
        expires_at=clock.to_datetime(clock.seconds() + _KEPT_SECONDS),
    )


def stage_event(event: Event) -> None:
    """Stage an event that a request makes."""
    storage.put(_row(event))


class _Claimed(errors.Conflict):
    """Another message, or an earlier attempt at this one, has the claim."""


def claim(row: DeliveryRow) -> bool:
    """Claim a delivery with a conditional write, False when it is claimed already. After True it is posted once or
    never."""
    row.claim = ids.new_id()
    try:
        with storage.unit_of_work():
            storage.put(row, DeliveryRow.claim.does_not_exist(), _Claimed())
    except _Claimed:
        return False
    return True


def record_outcome(row: DeliveryRow, outcome: Outcome) -> None:
    """Write down how a claimed delivery ended."""
    _record_outcome(row, FAILED if outcome.error else DELIVERED, outcome)


def expire(row: DeliveryRow, why: str) -> None:
    """Write down that a claimed delivery is not sent, and why."""
    _record_outcome(row, EXPIRED, Outcome(None, why, 0))


def _record_outcome(row: DeliveryRow, status: str, outcome: Outcome) -> None:
    actions = [DeliveryRow.outcome.set(status), DeliveryRow.duration_ms.set(outcome.duration_ms)]
    if outcome.status is not None:
        actions.append(DeliveryRow.response_status.set(outcome.status))
    if outcome.error is not None:
        actions.append(DeliveryRow.error.set(outcome.error))
    with storage.unit_of_work():
        storage.update(row, actions, DeliveryRow.claim == row.claim)


def read(workspace_id: str, webhook_id: str, delivery_id: str) -> DeliveryRow:
    """A delivery. Raises NotFound."""
    row = storage.find(DeliveryRow, storage.key(workspace_id, webhook_id), delivery_id)
    if row is None:
        raise errors.NotFound.of("delivery")
    return row


def listed(
    workspace_id: str, webhook_id: str, before: str | None, limit: int, status: str | None
) -> tuple[list[DeliveryRow], str | None]:
    """At most `limit` deliveries of an endpoint, newest first, those of one status where it is given; and the id to go
    on before when there may be more. A page of one status may be short, or empty, and have more behind it."""
    partition = storage.key(workspace_id, webhook_id)
    condition = DeliveryRow.delivery_id < before if before else None
    most = limit if status is None else _MOST_LOOKED_AT
    rows = storage.query(DeliveryRow, partition, condition, limit=most + 1, newest_first=True)
    found = [row for row in rows[:most] if status in (None, row.status)]
    if len(found) > limit:
        return found[:limit], found[limit - 1].delivery_id
    return found, rows[most - 1].delivery_id if len(rows) > most else None
