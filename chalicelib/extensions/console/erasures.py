"""The pages on which operators erase a person's records, see all erasures, and download signed receipts."""

import json

from chalice.app import Response

from chalicelib import errors
from chalicelib.extensions.console import calls, guard, pages, rights
from chalicelib.extensions.console.guard import signed_in
from chalicelib.extensions.console.sessions import Session
from chalicelib.http import current_request
from chalicelib.storage import Document

_LIST, _PATH = "/v3/erasures", "/v3/erasures/{erasure_id}"
_PAGE_SIZE = 20
_FIELDS = ("userID", "email", "phone")


@signed_in("/settings")
def read_form(session: Session) -> Response:
    """Show the form that identifies the person to erase, and the workspace's erasures, newest first.

    The query may contain the form's values.
    """
    rights.require_operator(session)
    return _form(session, {name: current_request.query_value(name) or "" for name in _FIELDS})


@signed_in("/settings")
def create_erasure(session: Session) -> Response:
    """Start an erasure, once per form, and show its page."""
    rights.require_operator(session)
    sent = guard.form()
    person = {name: text for name in _FIELDS if (text := sent.get(name, "").strip())}
    try:
        if not person:
            raise guard.form_error(session, "userID.erasure")
        erasure = calls.send_once(sent.get("form_id"), _LIST, {"erasure": person})["data"]
    except errors.ApiError as error:
        return _form(session, person, error)
    return pages.redirect(f"/{session.workspace_id}/settings/erasures/{erasure['id']}")


@signed_in("/settings")
def read_erasure(session: Session, erasure_id: str) -> Response:
    """Show an erasure's progress and, once it is complete, a link to its receipt."""
    rights.require_operator(session)
    return guard.page(session, "erasure.html", "/settings", erasure=_read(erasure_id))


@signed_in("/settings")
def download_receipt(session: Session, erasure_id: str) -> Response:
    """Return the signed receipt for a complete erasure as a file. Raise NotFound while the erasure runs."""
    rights.require_operator(session)
    receipt = _read(erasure_id).get("receipt")
    if receipt is None:
        raise errors.NotFound.of("receipt")
    text = json.dumps(receipt, indent=1)
    return pages.download("erasure-receipt.json", "application/json", text)


def _read(erasure_id: str) -> Document:
    erasure: Document = calls.get(_PATH, erasure_id=erasure_id)["data"]
    return erasure


def _form(session: Session, values: dict[str, str], error: errors.ApiError | None = None) -> Response:
    page = calls.get(_LIST, {"limit": _PAGE_SIZE, "cursor": current_request.query_value("cursor")})
    return guard.form_page(
        session,
        "new_erasure.html",
        "/settings",
        error,
        values={**dict.fromkeys(_FIELDS, ""), **values},
        erasures=page["data"],
        following=page.get("nextCursor"),
    )
