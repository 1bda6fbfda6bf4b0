"""Each workspace's email allowances per UTC day.

All workspaces share the sender's quota and reputation, and a workspace can give its clients any address. Anyone can
request password resets, so each purpose has its own allowance. Otherwise, these requests could use
up the allowance of notifications. One row per day and purpose counts the emails, and expires later.
"""

from contextlib import suppress

from pynamodb.attributes import NumberAttribute, TTLAttribute, UnicodeAttribute

from chalicelib import clock, storage

# A tenth of the daily quota that SES grants a new production account.
MAX_MAILS = 5_000
# The allowance of each other purpose.
MAX_LINKS = 1_000
CHANGES = "changes"
"""The purpose of emails about a person's new email or password."""
_DAY_SECONDS = 24 * 60 * 60
_MAILS = "mails"


class AllowanceRow(storage.Row):
    """The number of emails that a workspace has sent on a day: notifications, or emails for a purpose."""

    class Meta:
        table_name = storage.table("workspaces")

    lifecycle = storage.Lifecycle(
        "{workspace}#mails",
        "{day} or {day}#{purpose}",
        owner="workspace",
        export="no: expires",
        erasure="no: contains only a number",
    )
    workspace = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)
    mails = NumberAttribute()
    expires_at = TTLAttribute()


def take(workspace_id: str, purpose: str = "") -> bool:
    """Count an email before it is sent today. Return False if the limit is reached. This costs one request.

    `purpose` is `CHANGES`, or the purpose of a link, in `one_time_links.LIFETIMES`. Notifications have none.
    """
    end = clock.to_datetime((_today() + 2) * _DAY_SECONDS)
    actions = [AllowanceRow.mails.add(1), AllowanceRow.expires_at.set(end)]
    try:
        with storage.unit_of_work():
            storage.update(
                _row(workspace_id, purpose),
                actions,
                AllowanceRow.mails.does_not_exist() | (AllowanceRow.mails < (MAX_LINKS if purpose else MAX_MAILS)),
            )
    except storage.ConditionFailed:
        return False
    return True


def give_back(workspace_id: str, purpose: str = "") -> None:
    """Return an unsent email's allowance, so that an SES outage does not use it up. This costs one request."""
    row = _row(workspace_id, purpose)
    with suppress(storage.ConditionFailed), storage.unit_of_work():
        storage.update(row, [AllowanceRow.mails.add(-1)], AllowanceRow.mails > 0)


def is_used_up(workspace_id: str) -> bool:
    """Return whether the workspace has used up today's allowance of notifications. This costs one request."""
    row = storage.find(AllowanceRow, storage.join_key(workspace_id, _MAILS), str(_today()))
    return bool(row and row.mails >= MAX_MAILS)


def delete_all(workspace_id: str) -> int:
    """Delete all of a workspace's allowance rows, and return how many were deleted."""
    rows = storage.query(AllowanceRow, storage.join_key(workspace_id, _MAILS))
    storage.delete_many(rows)
    return len(rows)


def _row(workspace_id: str, purpose: str) -> AllowanceRow:
    item = [str(_today()), *([purpose] if purpose else [])]
    return AllowanceRow(storage.join_key(workspace_id, _MAILS), storage.join_key(*item))


def _today() -> int:
    return clock.seconds() // _DAY_SECONDS
