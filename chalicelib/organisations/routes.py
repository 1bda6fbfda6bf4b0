"""Organisations over HTTP (§4.2)."""

from functools import partial
from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import errors, ids
from chalicelib.http import auth, bodies, etag, pages, parameters, privileges, references, responses
from chalicelib.http.lazy_module import LazyModule
from chalicelib.http.operation import Operation
from chalicelib.organisations import store
from chalicelib.storage import Document

if TYPE_CHECKING:
    from chalicelib.organisations import models
else:
    models = LazyModule("chalicelib.organisations.models")

routes = Blueprint(__name__)
references.declare("organisation", store.key)

_LISTED = "Organizations retrieved successfully"


@routes.route("/v2/orgs", methods=["GET"])
@Operation(data="list[models.Organisation]", query=("limit", "cursor"))
def list_organisations() -> Response:
    """List the workspace's organisations, ordered by id.

    Without `limit` or `cursor`, the response contains all organisations. With either, it contains one page, plus
    `nextCursor` unless this is the last page.
    """
    fetch = partial(store.list_page, auth.caller().workspace_id)
    return pages.all_or_page(_LISTED, fetch, lambda row: _render(row, row.open()))


@routes.route("/v2/orgs", methods=["PUT"])
@Operation(body="models.Organisation", data="models.Organisation", creates=True, warns=True, raises=(errors.TooLarge,))
def put_organisation() -> Response:
    """Create an organisation. The service generates its id, so each request creates a new organisation.

    `warnings` lists up to 20 of the `widgetIDs` and `adminIDs` that match no record. All ids are stored as sent.
    """
    return _create(bodies.read(), "")


@routes.route("/v2/orgs/{org_id}", methods=["GET"])  # §4.2
@Operation(data="models.Organisation", headers=("If-None-Match",), raises=(errors.NotFound,))
def read_organisation(org_id: str) -> Response:
    """Read an organisation. `userId` is the workspace id."""
    row = store.read(auth.caller().workspace_id, org_id)
    return etag.tagged(responses.success("Organization retrieved successfully", _render(row, row.open())), row)


@routes.route("/v2/orgs/{org_id}", methods=["POST"])  # §4.2
@Operation(
    body="models.Organisation",
    warns=True,
    headers=("If-Match", "If-None-Match"),
    raises=(errors.Stale, errors.TooLarge),
)
def save_organisation(org_id: str) -> Response:
    """Create or change an organisation. Members that you leave out keep their values, and `null` clears a member.

    `warnings` lists up to 20 of the `widgetIDs` and `adminIDs` that match no record. All ids are stored as sent.
    """
    change: models.Organisation = bodies.read()
    workspace_id = auth.caller().workspace_id
    stored = etag.check_preconditions(store.find(workspace_id, org_id))
    row, before = (stored, stored.open()) if stored else (store.new(workspace_id, org_id), {})
    store.save(row, before, change.merge_into(before))
    return etag.tagged(responses.success("Organization updated successfully", None, _warnings(change, before)), row)


@routes.route("/v2/orgs/{org_id}", methods=["DELETE"])
@Operation(headers=("If-Match",), raises=(errors.NotFound, errors.Stale))
def delete_organisation_v2(org_id: str) -> Response:
    """Delete an organisation. Its agents and clients are kept."""
    return _delete(org_id)


@routes.route("/v3/orgs", methods=["GET"])
@Operation(
    data="list[models.Organisation]",
    query=("page", "pageSize", "cursor"),
    bounded=True,
    optional_members=("currentPage", "total", "totalPages"),
)
def list_organisations_v3() -> Response:
    """List the workspace's organisations, ordered by id.

    While `hasMore` is true, pass `nextCursor` as `cursor` to continue. With `page`, the request examines up to 500
    organisations. If these are all, the response contains `total` and `totalPages`. Otherwise, only the last page
    contains `nextCursor`. The request fails with 413 if the page does not fit in a response.
    """
    limit, cursor = parameters.limit(name="pageSize"), parameters.cursor()
    rows = pages.in_portions(partial(store.list_page, auth.caller().workspace_id), cursor, limit)
    return pages.numbered_or_bounded_page(_LISTED, pages.examine(rows, _render), limit, "currentPage")


@routes.route("/v3/orgs", methods=["POST"])
@Operation(
    body="models.OrganisationIn", data="models.Organisation", creates=True, warns=True, raises=(errors.TooLarge,)
)
def create_organisation() -> Response:
    """Create an organisation. The service generates its id.

    `warnings` lists up to 20 of the `widgetIDs` and `adminIDs` that match no record. All ids are stored as sent.
    """
    body: models.OrganisationIn = bodies.read()
    return _create(body.organisation, "organisation.")


@routes.route("/v3/orgs/{org_id}", methods=["DELETE"])
@Operation(headers=("If-Match",), raises=(errors.NotFound, errors.Stale))
def delete_organisation(org_id: str) -> Response:
    """Delete an organisation. Its agents and clients are kept."""
    return _delete(org_id)


def _create(organisation: "models.Organisation", path: str) -> Response:
    row = store.new(auth.caller().workspace_id, ids.new_id())
    document = store.save(row, {}, organisation.merge_into({}))
    warnings = _warnings(organisation, {}, path)
    return etag.tagged(responses.success("Organization created successfully", _render(row, document), warnings), row)


def _warnings(change: "models.Organisation", before: Document, path: str = "") -> list[errors.MemberIssue]:
    """Return warnings about missing agents and admins. `path` is the organisation's path in the body."""
    return references.warn_of_missing(
        auth.caller().workspace_id,
        *(
            references.References(
                references.ids_by_path(f"{path}{name}", getattr(change, name)), kind, {*before.get(name, ())}
            )
            for name, kind in (("widgetIDs", "agent"), ("adminIDs", "client"))
        ),
    )


def _delete(org_id: str) -> Response:
    store.delete(etag.require_match(store.find(auth.caller().workspace_id, org_id), "organisation"))
    return responses.success("Organization deleted successfully")


def _render(row: store.OrganisationRow, document: Document) -> Document:
    return privileges.visible({"ID": row.org_id, "userId": row.workspace, **document}, lambda: models.Organisation)
