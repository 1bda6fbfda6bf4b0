"""Routes for the workspace, its tokens and its key. They require the workspace key (`auth.ROUTE_CREDENTIALS`)."""

from typing import TYPE_CHECKING, Any

from chalice.app import Blueprint, Response

from chalicelib import clock, errors
from chalicelib.credentials import store as credentials
from chalicelib.credentials import tokens
from chalicelib.http import auth, bodies, etag, parameters, responses
from chalicelib.http.operation import Operation
from chalicelib.workspaces import store

if TYPE_CHECKING:
    from chalicelib.workspaces import models

routes = Blueprint(__name__)


@routes.route("/v3/tokens", methods=["POST"])
@Operation(body="models.TokenIn", data="models.Token")
def issue_token() -> Response:
    """Issue a v3 access token. Only this response contains `token`, which cannot be read again.

    Without `scopes` and `readOnly`, the token permits all v3 routes that are not reserved for the workspace key.
    """
    body: models.TokenIn = bodies.read()
    settings = body.token
    lifetime = settings.expiresInSeconds or credentials.TOKEN_LIFETIME
    workspace_id = auth.caller().workspace_id
    rights = {"read_only": bool(settings.readOnly), "granted": settings.scopes}
    if settings.readOnly and settings.scopes:
        raise errors.Invalid.member("token.readOnly", "must be left out with scopes; it means all read scopes")
    issued = store.issue(workspace_id, tokens.ACCESS, settings.name, lifetime, **rights)
    return responses.success("Token created successfully", {**_render(issued.credential), "token": issued.token})


@routes.route("/v3/tokens", methods=["GET"])
@Operation(data="list[models.Token]", query=("limit", "cursor"))
def list_tokens() -> Response:
    """List the workspace's active access tokens, oldest first.

    The response contains `nextCursor` unless it is the last page. A page may be shorter if tokens have just expired.
    """
    rows, more = credentials.list_page(
        auth.caller().workspace_id, tokens.ACCESS, parameters.cursor(), parameters.limit()
    )
    rendered = [_render(row) for row in rows]
    return responses.listing("Tokens retrieved successfully", rendered, more)


@routes.route("/v3/tokens/{token_id}", methods=["DELETE"])
@Operation(raises=(errors.NotFound,))
def revoke_token(token_id: str) -> Response:
    """Revoke an access token. It stops working within 30 seconds."""
    credentials.revoke(credentials.read(auth.caller().workspace_id, token_id, tokens.ACCESS))
    return responses.success("Token deleted successfully")


@routes.route("/v3/workspace/key/rotate", methods=["POST"])
@Operation(body="models.Rotation", body_optional=True, data="models.RotatedKey", raises=(errors.NotFound,))
def rotate_key() -> Response:
    """Replace the workspace key that authorises this request. The old key works until the overlap ends.

    The body is optional. After a leak, ask the operator to revoke the key instead, because a rotated key keeps working
    during its overlap.
    """
    body: models.Rotation = bodies.read()
    overlap = credentials.OVERLAP if body.overlapSeconds is None else body.overlapSeconds
    caller = auth.caller()
    old = credentials.read(caller.workspace_id, caller.credential_id, tokens.WORKSPACE)
    issued = credentials.rotate(old, overlap)
    rendered = {**_times(issued.credential), "id": issued.credential.credential_id, "key": issued.token}
    return responses.success("Key rotated successfully", {**rendered, "previousKeyExpiresAt": _times(old)["expiresAt"]})


@routes.route("/v3/workspace", methods=["GET"])
@Operation(data="models.Workspace", headers=("If-None-Match",))
def read_workspace() -> Response:
    """Read the workspace to which the workspace key belongs."""
    row = store.read(auth.caller().workspace_id)
    return etag.tagged(responses.success("Workspace retrieved successfully", _render_workspace(row)), row)


@routes.route("/v3/workspace", methods=["PATCH"])
@Operation(
    body="models.WorkspaceIn", data="models.Workspace", warns=True, headers=("If-Match",), raises=(errors.Stale,)
)
def change_workspace() -> Response:
    """Change the workspace to which the workspace key belongs. Members that you leave out keep their values.

    Conversations expire `retentionDays` after their last change, unless their agent sets `retention`. With `null`, they
    do not expire. A change is applied to existing conversations in the background, about two minutes later.
    """
    body: models.WorkspaceIn = bodies.read()
    row = etag.require_match(store.read(auth.caller().workspace_id), "workspace")
    before = row.open()
    store.save(row, before, body.workspace.merge_into(before))
    return etag.tagged(responses.success("Workspace updated successfully", _render_workspace(row)), row)


def _render_workspace(row: store.WorkspaceRow) -> dict[str, Any]:
    document = row.open()
    retention = {"retentionDays": document["retentionDays"]} if "retentionDays" in document else {}
    return {"id": row.workspace, "name": document["name"], **retention, "createdAt": clock.iso(document["createdAt"])}


def _render(row: credentials.CredentialRow) -> dict[str, Any]:
    granted = {} if row.granted is None else {"scopes": sorted(row.granted)}
    rendered = {"id": row.credential_id, "name": row.name, "readOnly": row.only_reads, **granted, **_times(row)}
    return {**rendered, "lastUsedAt": clock.iso(int(row.last_used_at)) if row.last_used_at else None}


def _times(row: credentials.CredentialRow) -> dict[str, Any]:
    expiry = {"expiresAt": clock.iso(row.ends_at)} if row.ends_at else {}
    return {**expiry, "createdAt": clock.iso(int(row.created_at))}
