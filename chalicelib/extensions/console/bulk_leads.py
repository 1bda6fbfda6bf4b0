"""The forms that export or delete the leads of several people, or set their status."""

import json
from collections.abc import Callable
from contextlib import suppress
from functools import partial

from chalice.app import Response

from chalicelib import errors, storage
from chalicelib.extensions.console import calls, filtered_lists, guard, lead_status, leads, pages
from chalicelib.extensions.console.guard import signed_in
from chalicelib.extensions.console.sessions import Session
from chalicelib.http import files
from chalicelib.ids import IDENTIFIER
from chalicelib.leads import export, store
from chalicelib.storage import Document, parent_scoped_ids

_PATH = "/v3/leads/{lead_id}"
# The name of a check box begins with this prefix. Its value contains the ids of a person's leads on the page.
_PREFIX = "pick."


@signed_in("/leads")
def change_many(session: Session) -> Response:
    """Export or delete the chosen leads, or set their status. The form of a row's status contains the row's leads.

    Raise Invalid for an unknown action, and NotFound, before any change, if the person does not see a lead's agent.
    """
    fields = guard.form()
    status, *of_row = fields.get("set", "").split() or [fields.get("action", "")]
    act = (
        partial(_set_status, status=status, row=of_row[:1]) if status in lead_status.STATUSES else _ACTIONS.get(status)
    )
    if act is None:
        raise errors.Invalid("The form has an unknown action.")
    chosen = (lead_id for name, value in fields.items() if name.startswith(_PREFIX) for lead_id in value.split())
    lead_ids = of_row or [*chosen]
    if len(lead_ids) > leads.PAGE_SIZE or not all(map(IDENTIFIER.fullmatch, lead_ids)):
        raise errors.Invalid("The form must contain the leads of one page.")
    return act(session, lead_ids) if lead_ids else _list(session, saved="none")


def _export(session: Session, lead_ids: list[str]) -> Response:
    chosen = _read(session, lead_ids)
    text = files.heading(files.CSV, export.COLUMNS) + export.text(map(json.dumps, chosen), files.CSV)
    return pages.download("leads.csv", files.MEDIA[files.CSV], text)


def _set_status(session: Session, lead_ids: list[str], status: str, row: list[str]) -> Response:
    """Set the status, and show the list at the row of which a button was pressed, if any."""
    chosen = _read(session, lead_ids)
    lead_status.save([lead["id"] for lead in chosen], status)
    place = "".join(f"#{lead_id}" for lead_id in row)
    return _list(session, place, saved=f"status.{status}", changed=str(len(chosen)))


def _delete(session: Session, lead_ids: list[str]) -> Response:
    """Delete the leads in one commit. Raise Forbidden if the person is not an administrator.

    The result counts all leads of the form, also those that an earlier request has deleted.
    """
    leads.require_administrator(session)
    chosen = _read(session, lead_ids)

    def delete_all() -> None:
        for lead in chosen:
            with suppress(errors.NotFound):  # another person has deleted it
                calls.send("DELETE", _PATH, None, lead_id=lead["id"])

    calls.commit_now(delete_all)
    return _list(session, saved="leads_deleted", changed=str(len(lead_ids)))


_ACTIONS: dict[str, Callable[[Session, list[str]], Response]] = {"export": _export, "delete": _delete}


def _read(session: Session, lead_ids: list[str]) -> list[Document]:
    """Return the leads that exist, for one request. Raise NotFound if the person cannot see a lead's agent."""
    partition_of = parent_scoped_ids.partition_of
    keys = [storage.Key(store.LeadRow, partition_of(session.workspace_id, one), one) for one in lead_ids]
    chosen = [{"id": row.lead_id, **row.open()} for row in storage.find_many(keys) if row]
    for lead in chosen:
        guard.require_agent(session, lead["agentId"])
    return chosen


def _list(session: Session, place: str = "", **result: str) -> Response:
    """Redirect to the list with the same filters, which shows the result. `place` is a fragment of the page."""
    query = calls.query_string({**filtered_lists.query_from_request((*leads.FILTERS, "cursor")), **result})
    return pages.redirect(f"/{session.workspace_id}/leads{query}{place}")
