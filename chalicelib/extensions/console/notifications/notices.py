"""Records the last email to each person. A row contains no personal data and expires after a day.

A row is a lease: the process that writes it may send one email, and other processes must wait for five minutes, even
after a crash. `is_sent` confirms that the email was sent. Without it, the email is composed again after five minutes.
`is_refused` records that SES rejected the email.
"""

from pynamodb.attributes import BooleanAttribute, NumberAttribute, TTLAttribute, UnicodeAttribute

from chalicelib import clock, storage

# The time between two emails to a person.
INTERVAL_MILLISECONDS = 300_000
# The inbox index is eventually consistent, and clocks differ.
TOLERANCE_MILLISECONDS = 5_000
_LIFETIME_SECONDS = 24 * 60 * 60
_NOTICES = "notices"


class NoticeRow(storage.VersionedRow):
    """The last email to a client: when its conversations were listed, in Unix milliseconds, and the outcome."""

    class Meta:
        table_name = storage.table("workspaces")

    lifecycle = storage.Lifecycle(
        "{workspace}#notices", "{client}", owner="workspace", export="no: expires", erasure="no: contains only times"
    )
    workspace = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)
    listed_at = NumberAttribute()
    is_sent = BooleanAttribute(null=True)
    is_refused = BooleanAttribute(null=True)
    expires_at = TTLAttribute()

    def covers(self, milliseconds: int) -> bool:
        """Return whether a sent email listed the conversations that were waiting at this time."""
        return milliseconds <= self.covered_until

    @property
    def covered_until(self) -> int:
        """The time up to which a sent email listed all waiting conversations, in ms, or 0 if no email was sent."""
        return int(self.listed_at) - TOLERANCE_MILLISECONDS if self.is_sent else 0

    def milliseconds_left(self) -> int:
        """Return the milliseconds until the person may get another email, or 0 or less if they may get one now."""
        return int(self.listed_at) + INTERVAL_MILLISECONDS - clock.milliseconds()


def find(workspace_id: str, client_id: str) -> NoticeRow | None:
    """Return a client's row, or None. This costs one request."""
    return storage.find(NoticeRow, storage.join_key(workspace_id, _NOTICES), client_id)


def claim(row: NoticeRow | None, workspace_id: str, client_id: str, listed_at: int) -> NoticeRow:
    """Claim the next email to a client whose row is `row`. Raise ConditionFailed if another process has claimed it."""
    row = row or NoticeRow(storage.join_key(workspace_id, _NOTICES), client_id)
    row.listed_at, row.is_sent, row.is_refused = listed_at, None, None
    row.expires_at = clock.to_datetime(listed_at // 1000 + _LIFETIME_SECONDS)
    with storage.unit_of_work():
        storage.put(row)
    return row


def confirm(row: NoticeRow) -> None:
    """Record that the claimed email was sent or, with `is_refused`, that SES rejected it."""
    row.is_sent = True
    with storage.unit_of_work():
        storage.put(row)


def delete_all(workspace_id: str) -> int:
    """Delete all of a workspace's notice rows, and return how many were deleted."""
    rows = storage.query(NoticeRow, storage.join_key(workspace_id, _NOTICES))
    storage.delete_many(rows)
    return len(rows)
