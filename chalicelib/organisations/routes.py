"""Organisations over HTTP (§4.2)."""

from chalice.app import Blueprint, Response

from chalicelib import auth, http, storage
from chalicelib.openapi.operation import operation
from chalicelib.organisations import store

routes = Blueprint(__name__)


@routes.route("/v2/orgs/{org_id}", methods=["GET"])
@operation(data="models.Organisation")
def read_organisation(org_id: str) -> Response:
    """Read an organisation."""
    workspace_id = auth.caller().workspace_id
    shown = {"ID": org_id, "userId": workspace_id, **store.read(workspace_id, org_id).open()}
    return http.success("Organization retrieved successfully", shown)


@routes.route("/v2/orgs/{org_id}", methods=["POST"])
@operation(body="models.OrganisationIn")
def save_organisation(org_id: str) -> Response:
    """Create the organisation of this id, or edit it: members that are left out stay, `null` clears."""
    from chalicelib.organisations.models import OrganisationIn

    change = http.body(OrganisationIn)

    def save() -> None:
        workspace_id = auth.caller().workspace_id
        row = store.find(workspace_id, org_id)
        before = row.open() if row else {}
        store.save(row or store.new(workspace_id, org_id), before, change.merge_into(before))

    storage.reapplied(save)
    return http.success("Organization updated successfully")


@routes.route("/v3/orgs/{org_id}", methods=["DELETE"])
@operation()
def delete_organisation(org_id: str) -> Response:
    """Delete an organisation."""
    storage.reapplied(lambda: store.delete(store.read(auth.caller().workspace_id, org_id)))
    return http.success("Organization deleted successfully")
