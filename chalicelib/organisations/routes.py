"""Organisations over HTTP (§4.2)."""

from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import errors
from chalicelib.http import auth, etag, messages
from chalicelib.http.operation import operation
from chalicelib.organisations import store

if TYPE_CHECKING:
    from chalicelib.organisations import models

routes = Blueprint(__name__)


@routes.route("/v2/orgs/{org_id}", methods=["GET"])
@operation(
    data="models.Organisation",
    headers=("If-None-Match",),
    raises=(errors.NotFound,),
    examples="organisations.READ_ORGANISATION",
)
def read_organisation(org_id: str) -> Response:
    """Read an organisation. `userId` is the id of the workspace."""
    workspace_id = auth.caller().workspace_id
    row = store.read(workspace_id, org_id)
    rendered = {"ID": org_id, "userId": workspace_id, **row.open()}
    return etag.tagged(messages.success("Organization retrieved successfully", rendered), row)


@routes.route("/v2/orgs/{org_id}", methods=["POST"])
@operation(
    body="models.Organisation",
    headers=("If-Match", "If-None-Match"),
    raises=(errors.Stale, errors.TooLarge),
    examples="organisations.SAVE_ORGANISATION",
)
def save_organisation(org_id: str) -> Response:
    """Create or change an organisation. Members that you leave out keep their values, and `null` clears a member."""
    change: models.Organisation = messages.body()
    workspace_id = auth.caller().workspace_id
    stored = etag.check_preconditions(store.find(workspace_id, org_id))
    row, before = (stored, stored.open()) if stored else (store.new(workspace_id, org_id), {})
    store.save(row, before, change.merge_into(before))
    return etag.tagged(messages.success("Organization updated successfully"), row)


@routes.route("/v3/orgs/{org_id}", methods=["DELETE"])
@operation(headers=("If-Match",), raises=(errors.NotFound, errors.Stale), examples="deletions.DELETE_ORGANISATION")
def delete_organisation(org_id: str) -> Response:
    """Delete an organisation. Its agents and clients stay."""
    store.delete(etag.require_match(store.find(auth.caller().workspace_id, org_id), "organisation"))
    return messages.success("Organization deleted successfully")
