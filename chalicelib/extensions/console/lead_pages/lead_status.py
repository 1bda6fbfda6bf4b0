"""A lead's status, with which people follow up leads. It is in the lead's member `leadStatus`.

The API does not know the member, and stores it as sent. Therefore, it may contain any JSON value, and callers that may
not read secrets cannot read it. The console shows a missing or unknown value as new.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress

from chalicelib import errors
from chalicelib.extensions.console.access import calls
from chalicelib.http import current_request
from chalicelib.storage import Document

MEMBER = "leadStatus"
"""The member of a lead that contains its status."""
_NEW = "new"
STATUSES = (_NEW, "contacted", "closed")
"""The statuses, in the order of the work."""
_PATH = "/v3/leads/{lead_id}"


def status_of(lead: Document) -> str:
    """Return a lead's status."""
    status = lead.get(MEMBER)
    return status if isinstance(status, str) and status in STATUSES else _NEW


def from_query() -> str:
    """Return the status to which the list is limited, or an empty string if there is no valid one."""
    status = current_request.query_value("status") or ""
    return status if status in STATUSES else ""


def save(lead_ids: Iterable[str], status: str) -> None:
    """Give these leads a status, in one commit. Leads that no longer exist are left out. Raise Invalid."""
    save_each(dict.fromkeys(lead_ids, status))


def save_each(statuses: Mapping[str, str]) -> None:
    """Give each lead its status, by the lead's id, as `save` does."""
    if not {*statuses.values()} <= {*STATUSES}:
        raise errors.Invalid("The form has an unknown status.")

    def save_all() -> None:
        for lead_id, status in statuses.items():
            with suppress(errors.NotFound):
                change = {MEMBER: None if status == _NEW else status}
                calls.patch_as_sent(_PATH, {"lead": change}, lead_id=lead_id)

    calls.commit_now(save_all)
