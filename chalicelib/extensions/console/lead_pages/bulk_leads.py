"""The forms that export or delete the leads of several people, or set their status."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from chalice.app import Response

from chalicelib import errors, storage
from chalicelib.extensions.console.access import calls, guard
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.lead_pages import lead_file, lead_status, leads
from chalicelib.extensions.console.presentation import filtered_lists, pages
from chalicelib.ids import IDENTIFIER
from chalicelib.leads import store
from chalicelib.storage import Document, parent_scoped_ids

_PATH = "/v3/leads/{lead_id}"
# The name of a check box begins with this prefix. Its value contains the ids of a person's leads on the page.
_PREFIX = "pick."


@signed_in("/leads")
def change_many(session: Session) -> Response:
    """Export or delete the chosen leads, or set their status or undo that. A row's form contains the row's leads.

    Raise Invalid for an unknown action, and NotFound, before any change, if the person does not see a lead's agent.
    """
    fields = guard.form()
    return _undo(session, fields) if "undo" in fields else _change(session, fields)


def _change(session: Session, fields: dict[str, str]) -> Response:
    status, *of_row = fields.get("set", "").split() or [fields.get("action", "")]
    act = (
        partial(_set_status, status=status, row=of_row[:1]) if status in lead_status.STATUSES else _ACTIONS.get(status)
    )
    if act is None:
        raise errors.Invalid("The form has an unknown action.")
    chosen = (lead_id for name, value in fields.items() if name.startswith(_PREFIX) for lead_id in value.split())
    lead_ids = of_row or [*chosen]
    _require_one_page(lead_ids)
    return act(session, lead_ids) if lead_ids else _list(session, saved="none")


def _require_one_page(lead_ids: list[str]) -> None:
    """Raise Invalid for invalid ids, or more than a page has."""
    if len(lead_ids) > leads.PAGE_SIZE or not all(map(IDENTIFIER.fullmatch, lead_ids)):
        raise errors.Invalid("The form must contain the leads of one page.")


def _export(session: Session, lead_ids: list[str]) -> Response:
    return lead_file.download(_read(session, lead_ids))


def _set_status(session: Session, lead_ids: list[str], status: str, row: list[str]) -> Response:
    """Set the status, and show the list at the row of which a button was pressed, if any.

    The address contains the statuses before, for the button that undoes this.
    """
    chosen = _read(session, lead_ids)
    lead_status.save([lead["id"] for lead in chosen], status)
    before = [f"{one} {' '.join(ids)}" for one in lead_status.STATUSES if (ids := _with_status(chosen, one))]
    place = "".join(f"#{lead_id}" for lead_id in row)
    return _list(session, place, saved=f"status.{status}", changed=str(len(chosen)), before=" ".join(before))


def _with_status(chosen: list[Document], status: str) -> list[str]:
    return [lead["id"] for lead in chosen if lead_status.status_of(lead) == status]


def _undo(session: Session, fields: dict[str, str]) -> Response:
    """Restore the statuses before a change. Leads that another change has given another status keep it.

    The field `undo` contains each status with the ids of its leads, and `undone` the status to which they were set.
    """
    before: dict[str, str] = {}
    status = ""
    for word in fields["undo"].split():
        status = word if word in lead_status.STATUSES else status
        before |= {} if word == status else {word: status}
    _require_one_page([*before])
    kept = _with_status(_read(session, [*before]), fields.get("undone", ""))
    lead_status.save_each({lead_id: before[lead_id] for lead_id in kept})
    return _list(session, saved="undone", changed=str(len(kept)))


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
