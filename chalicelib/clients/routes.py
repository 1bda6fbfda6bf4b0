"""Clients over HTTP (§4.2)."""

from typing import Any

from chalice.app import Blueprint, Response

from chalicelib import auth, http, storage
from chalicelib.clients import store
from chalicelib.openapi.operation import operation

routes = Blueprint(__name__)


@routes.route("/v2/clients", methods=["GET"])
@operation(data="list[models.Client]")
def list_clients() -> Response:
    """List all clients of the workspace, in the order of their ids."""
    rows = store.listed(auth.caller().workspace_id)
    return http.success("Clients retrieved successfully", [_shown(row.client_id, row.open()) for row in rows])


@routes.route("/v2/clients/{client_id}", methods=["GET"])
@operation(data="models.Client")
def read_client(client_id: str) -> Response:
    """Read a client."""
    row = store.read(auth.caller().workspace_id, client_id)
    return http.success("Client retrieved successfully", _shown(client_id, row.open()))


@routes.route("/v2/clients/{client_id}", methods=["POST"])
@operation(body="models.Client")
def save_client(client_id: str) -> Response:
    """Create the client of this id, or edit it: members that are left out stay, `null` clears.

    An email belongs to one client of the workspace only.
    """
    from chalicelib.clients.models import Client

    change = http.body(Client)

    def save() -> None:
        workspace_id = auth.caller().workspace_id
        row = store.find(workspace_id, client_id)
        before = row.open() if row else {}
        store.save(row or store.new(workspace_id, client_id), before, change.merge_into(before))

    storage.reapplied(save)
    return http.success("Client updated successfully")


@routes.route("/v3/clients/{client_id}", methods=["DELETE"])
@operation()
def delete_client(client_id: str) -> Response:
    """Delete a client."""
    storage.reapplied(lambda: store.delete(store.read(auth.caller().workspace_id, client_id)))
    return http.success("Client deleted successfully")


def _shown(client_id: str, document: dict[str, Any]) -> dict[str, Any]:
    return {"ID": client_id, "ownerID": auth.caller().workspace_id, "orgUsers": [], **document}
