"""Clients over HTTP (§4.2)."""

from functools import partial
from typing import Any

from chalice.app import Blueprint, Response

from chalicelib import storage
from chalicelib.clients import store
from chalicelib.http import auth, etag, messages, pages
from chalicelib.http.operation import operation

routes = Blueprint(__name__)


@routes.route("/v2/clients", methods=["GET"])
@operation(data="list[models.Client]", query=("limit", "cursor"))
def list_clients() -> Response:
    """List the clients of the workspace, in the order of their ids.

    All at once; with `limit` or `cursor` in pages, and `nextCursor` is there when there are more.
    """
    listed = partial(store.listed, auth.caller().workspace_id)
    return pages.whole_or_page("Clients retrieved successfully", listed, lambda row: _shown(row.client_id, row.open()))


@routes.route("/v2/clients/{client_id}", methods=["GET"])
@operation(data="models.Client", headers=("If-None-Match",))
def read_client(client_id: str) -> Response:
    """Read a client."""
    row = store.read(auth.caller().workspace_id, client_id)
    return etag.tagged(messages.success("Client retrieved successfully", _shown(client_id, row.open())), row)


@routes.route("/v2/clients/{client_id}", methods=["POST"])
@operation(body="models.Client", headers=("If-Match", "If-None-Match"))
def save_client(client_id: str) -> Response:
    """Create the client of this id, or edit it: members that are left out stay, `null` clears.

    An email belongs to one client of the workspace only.
    """
    from chalicelib.clients.models import Client

    change = messages.body(Client)

    def saved() -> store.ClientRow:
        workspace_id = auth.caller().workspace_id
        known = etag.check_preconditions(store.find(workspace_id, client_id))
        row = known or store.new(workspace_id, client_id)
        before = known.open() if known else {}
        store.save(row, before, change.merge_into(before))
        return row

    return etag.tagged(messages.success("Client updated successfully"), storage.retry_on_conflict(saved))


@routes.route("/v3/clients/{client_id}", methods=["DELETE"])
@operation(headers=("If-Match",))
def delete_client(client_id: str) -> Response:
    """Delete a client."""
    workspace_id = auth.caller().workspace_id
    storage.retry_on_conflict(lambda: store.delete(etag.require_match(store.find(workspace_id, client_id), "client")))
    return messages.success("Client deleted successfully")


def _shown(client_id: str, document: dict[str, Any]) -> dict[str, Any]:
    return {"ID": client_id, "ownerID": auth.caller().workspace_id, "orgUsers": [], **document}
