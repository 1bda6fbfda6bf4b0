"""Clients over HTTP (§4.2)."""

from functools import partial
from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import errors
from chalicelib.clients import store
from chalicelib.http import auth, etag, messages, pages
from chalicelib.http.operation import operation
from chalicelib.storage import Document

if TYPE_CHECKING:
    from chalicelib.clients import models

routes = Blueprint(__name__)


@routes.route("/v2/clients", methods=["GET"])
@operation(data="list[models.Client]", query=("limit", "cursor"), examples="clients.LIST_CLIENTS")
def list_clients() -> Response:
    """List the clients of the workspace, ordered by id.

    Without `limit` and `cursor` the response has all clients. With either it has a page, and `nextCursor` unless it is
    the last page.
    """
    fetch = partial(store.list_page, auth.caller().workspace_id)
    return pages.all_or_page("Clients retrieved successfully", fetch, lambda row: _render(row.client_id, row.open()))


@routes.route("/v2/clients/{client_id}", methods=["GET"])
@operation(data="models.Client", headers=("If-None-Match",), raises=(errors.NotFound,), examples="clients.READ_CLIENT")
def read_client(client_id: str) -> Response:
    """Read a client. The response contains `dashboardPassword` as it was sent."""
    row = store.read(auth.caller().workspace_id, client_id)
    return etag.tagged(messages.success("Client retrieved successfully", _render(client_id, row.open())), row)


@routes.route("/v2/clients/{client_id}", methods=["POST"])
@operation(
    body="models.Client",
    headers=("If-Match", "If-None-Match"),
    raises=(errors.Stale, store.EmailTaken, errors.TooLarge),
    examples="clients.SAVE_CLIENT",
)
def save_client(client_id: str) -> Response:
    """Create or change a client. Members that you leave out keep their values, and `null` clears a member.

    An email address can belong to only one client of a workspace.
    """
    change: models.Client = messages.body()
    workspace_id = auth.caller().workspace_id
    stored = etag.check_preconditions(store.find(workspace_id, client_id))
    row, before = (stored, stored.open()) if stored else (store.new(workspace_id, client_id), {})
    store.save(row, before, change.merge_into(before))
    return etag.tagged(messages.success("Client updated successfully"), row)


@routes.route("/v3/clients/{client_id}", methods=["DELETE"])
@operation(headers=("If-Match",), raises=(errors.NotFound, errors.Stale), examples="deletions.DELETE_CLIENT")
def delete_client(client_id: str) -> Response:
    """Delete a client. Another client can then use its email."""
    store.delete(etag.require_match(store.find(auth.caller().workspace_id, client_id), "client"))
    return messages.success("Client deleted successfully")


def _render(client_id: str, document: Document) -> Document:
    return {"ID": client_id, "ownerID": auth.caller().workspace_id, "orgUsers": [], **document}
