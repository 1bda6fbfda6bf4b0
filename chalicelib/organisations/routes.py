"""Organisations over HTTP (§4.2)."""

from chalice.app import Blueprint, Response

from chalicelib import storage
from chalicelib.http import auth, etag, messages
from chalicelib.http.operation import operation
from chalicelib.organisations import store

routes = Blueprint(__name__)


@routes.route("/v2/orgs/{org_id}", methods=["GET"])
@operation(data="models.Organisation", headers=("If-None-Match",))
def read_organisation(org_id: str) -> Response:
    """Read an organisation."""
    workspace_id = auth.caller().workspace_id
    row = store.read(workspace_id, org_id)
    shown = {"ID": org_id, "userId": workspace_id, **row.open()}
    return etag.tagged(messages.success("Organization retrieved successfully", shown), row)


@routes.route("/v2/orgs/{org_id}", methods=["POST"])
@operation(body="models.OrganisationIn", headers=("If-Match", "If-None-Match"))
def save_organisation(org_id: str) -> Response:
    """Create the organisation of this id, or edit it: members that are left out stay, `null` clears."""
    from chalicelib.organisations.models import OrganisationIn

    change = messages.body(OrganisationIn)

    def saved() -> store.OrganisationRow:
        workspace_id = auth.caller().workspace_id
        known = etag.check_preconditions(store.find(workspace_id, org_id))
        row = known or store.new(workspace_id, org_id)
        before = known.open() if known else {}
        store.save(row, before, change.merge_into(before))
        return row

    return etag.tagged(messages.success("Organization updated successfully"), storage.retry_on_conflict(saved))


@routes.route("/v3/orgs/{org_id}", methods=["DELETE"])
@operation(headers=("If-Match",))
def delete_organisation(org_id: str) -> Response:
    """Delete an organisation."""
    workspace_id = auth.caller().workspace_id
    storage.retry_on_conflict(
        lambda: store.delete(etag.require_match(store.find(workspace_id, org_id), "organisation"))
    )
    return messages.success("Organization deleted successfully")
