"""The pages on which operators preview and start erasures, see all erasures, and download signed receipts."""

import json
import re

from chalice.app import Response

from chalicelib import errors, extensions, storage
from chalicelib.extensions.console.access import calls, guard, rights
from chalicelib.extensions.console.access.calls import query_string
from chalicelib.extensions.console.access.guard import signed_in
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.presentation import pages, same_person
from chalicelib.extensions.console.settings_pages import erasure_preview
from chalicelib.http import current_request
from chalicelib.storage import Document

_LIST, _PATH = "/v3/erasures", "/v3/erasures/{erasure_id}"
_PAGE_SIZE = 20
_FIELDS, _REFERENCE = ("email", "phone", "userID"), "reference"
_NOT_IN_NAME, _MAX_NAME = re.compile("[^A-Za-z0-9]+"), 60  # of a file
_REFRESH_SECONDS = 10  # how often the page of a running erasure reloads


@signed_in("/settings")
def read_form(session: Session) -> Response:
    """Show the form that identifies the person to erase, and the workspace's erasures, newest first.

    The query may contain the form's values; the page then previews the erasure. Values of more than 200 characters are
    ignored, because a truncated value could identify another person.
    """
    rights.require_operator(session)
    return _form(session, same_person.known_values({name: current_request.query_value(name) for name in _FIELDS}))


def address_of(session: Session, visitor: Document) -> str | None:
    """Return the path of the form with a visitor's `userID`, `email` and `phone`.

    Return None for an unknown visitor, for people who are not operators, and without the extension `erasures`.
    """
    known = same_person.known_values(visitor)
    is_allowed = session.client_id is None and extensions.has("erasures")
    return f"/settings/erasures{query_string(known)}" if is_allowed and known else None


@signed_in("/settings")
def create_erasure(session: Session) -> Response:
    """Preview an erasure. If the form confirms the preview, start the erasure, once per form, and show its page."""
    rights.require_operator(session)
    sent = guard.form()
    filled = {name: text for name in (*_FIELDS, _REFERENCE) if (text := sent.get(name, "").strip())}
    if sent.get("action") != "erase" and _person(filled):
        return _form(session, filled)
    try:
        erasure = _start(session, filled, sent.get("form_id"))
    except errors.ApiError as error:
        return _form(session, filled, error)
    return pages.redirect(f"/{session.workspace_id}/settings/erasures/{erasure['id']}")


@signed_in("/settings")
def read_erasure(session: Session, erasure_id: str) -> Response:
    """Show an erasure's progress and, once it is complete, its receipt's file and how to verify it.

    Until then, the page reloads.
    """
    rights.require_operator(session)
    erasure = _read(erasure_id)
    values: Document = {
        "erasure": erasure,
        "seconds": _REFRESH_SECONDS,
        "file": _file_name(erasure),
        "key_alias": _key_alias(),
    }
    page = guard.page(session, "erasure.html", "/settings", **values)
    if "receipt" not in erasure:
        page.headers["Refresh"] = str(_REFRESH_SECONDS)
    return page


@signed_in("/settings")
def download_receipt(session: Session, erasure_id: str) -> Response:
    """Return the signed receipt for a complete erasure as a file. Raise NotFound while the erasure runs.

    The file's name contains the erasure's reference, or its id without one.
    """
    rights.require_operator(session)
    erasure = _read(erasure_id)
    if "receipt" not in erasure:
        raise errors.NotFound.of("receipt")
    return pages.download(_file_name(erasure), "application/json", json.dumps(erasure["receipt"], indent=1))


def _file_name(erasure: Document) -> str:
    name = _NOT_IN_NAME.sub("-", erasure.get("reference") or erasure["id"])[:_MAX_NAME].strip("-")
    return f"erasure-receipt-{name or erasure['id']}.json"


def _key_alias() -> str:
    """Return the alias of the KMS key with which the extension `erasures` signs receipts."""
    return f"alias/{storage.table('receipts')}"


def _read(erasure_id: str) -> Document:
    erasure: Document = calls.get(_PATH, erasure_id=erasure_id)["data"]
    return erasure


def _person(values: dict[str, str]) -> dict[str, str]:
    return {name: values[name] for name in _FIELDS if name in values}


def _start(session: Session, filled: dict[str, str], form_id: str | None) -> Document:
    """Return the new erasure. Raise a form error if no field identifies a person."""
    if not _person(filled):
        raise guard.form_error(session, "email.erasure")
    erasure: Document = calls.send_once(form_id, _LIST, {"erasure": filled})["data"]
    return erasure


def _form(session: Session, values: dict[str, str], error: errors.ApiError | None = None) -> Response:
    person = _person(values)
    page = calls.get(_LIST, {"limit": _PAGE_SIZE, "cursor": current_request.query_value("cursor")})
    return guard.form_page(
        session,
        "new_erasure.html",
        "/settings",
        error,
        values={**dict.fromkeys((*_FIELDS, _REFERENCE), ""), **values},
        preview=erasure_preview.read(session, person) if person else None,
        person=person,
        erasures=page["data"],
        following=page.get("nextCursor"),
    )
