"""Replaces the ids of people with their names in the authors of changes."""

from typing import Any

from chalicelib import storage
from chalicelib.clients import store as clients
from chalicelib.extensions.console.access.sessions import Session
from chalicelib.extensions.console.presentation.template_filters import display_name
from chalicelib.ids import IDENTIFIER
from chalicelib.storage import Document

_SESSION = "session"


def with_names(session: Session, changes: list[Document]) -> list[Document]:
    """Return the changes, in which an author who used the console has a name instead of an id.

    Clients see the names in their organisation only. This costs one request if any author used the console.
    """
    ids = sorted({by["name"] for one in changes if (by := one["by"]) and by["kind"] == _SESSION})
    known = [one for one in ids if IDENTIFIER.fullmatch(one)]
    rows = storage.find_many([clients.key(session.workspace_id, one)._replace(consistent=False) for one in known])
    names = {one: _name(session, row) for one, row in zip(known, rows, strict=True) if row}
    return [{**one, "by": _named(one["by"], names)} for one in changes]


def _named(by: Document | None, names: dict[str, str]) -> Document | None:
    return {**by, "name": names.get(by["name"]) or by["name"]} if by and by["kind"] == _SESSION else by


def _name(session: Session, row: Any) -> str:
    client = row.open()
    is_visible = session.client_id is None or client.get("orgId") == session.client.get("orgId")
    return display_name(client, "name", "email") if is_visible else ""
