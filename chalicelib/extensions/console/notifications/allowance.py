"""The number of emails that a workspace may send per UTC day.

All workspaces share the sender's quota and reputation, and a workspace can give its clients any address. One row a day
counts the emails, and expires.
"""

from contextlib import suppress

from pynamodb.attributes import NumberAttribute, TTLAttribute, UnicodeAttribute

from chalicelib import clock, storage

# A tenth of the emails that SES lets a new production account send in a day.
MAX_MAILS = 5_000
_DAY_SECONDS = 24 * 60 * 60
_MAILS = "mails"


class AllowanceRow(storage.Row):
    """The number of emails of a workspace on a day."""

    class Meta:
        table_name = storage.table("workspaces")

    lifecycle = storage.Lifecycle(
        "{workspace}#mails", "{day}", owner="workspace", export="no: expires", erasure="no: contains only a number"
    )
    workspace = UnicodeAttribute(hash_key=True)
    item = UnicodeAttribute(range_key=True)
    mails = NumberAttribute()
    expires_at = TTLAttribute()


def take(workspace_id: str) -> bool:
    """Count an email of today before it is sent; return False if the limit is reached. One request."""
    end = clock.to_datetime((_today() + 2) * _DAY_SECONDS)
    actions = [AllowanceRow.mails.add(1), AllowanceRow.expires_at.set(end)]
    try:
        with storage.unit_of_work():
            storage.update(
                AllowanceRow(storage.join_key(workspace_id, _MAILS), str(_today())),
                actions,
                AllowanceRow.mails.does_not_exist() | (AllowanceRow.mails < MAX_MAILS),
            )
    except storage.ConditionFailed:
        return False
    return True


def give_back(workspace_id: str) -> None:
    """Give back the allowance of an email that SES has not sent, so that an outage uses none up. One request."""
    row = AllowanceRow(storage.join_key(workspace_id, _MAILS), str(_today()))
    with suppress(storage.ConditionFailed), storage.unit_of_work():
        storage.update(row, [AllowanceRow.mails.add(-1)], AllowanceRow.mails > 0)


def is_used_up(workspace_id: str) -> bool:
    """Return whether the workspace may send no more emails today. One request."""
    row = storage.find(AllowanceRow, storage.join_key(workspace_id, _MAILS), str(_today()))
    return bool(row and row.mails >= MAX_MAILS)


def delete_all(workspace_id: str) -> int:
    """Delete all rows of a workspace; return their number."""
    rows = storage.query(AllowanceRow, storage.join_key(workspace_id, _MAILS))
    storage.delete_many(rows)
    return len(rows)


def _today() -> int:
    return clock.seconds() // _DAY_SECONDS
