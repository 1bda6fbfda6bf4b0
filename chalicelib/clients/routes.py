"""Clients over HTTP (§4.2)."""

from functools import partial
from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import errors, ids
from chalicelib.clients import store
from chalicelib.http import auth, bodies, etag, pages, parameters, privileges, references, responses
from chalicelib.http.lazy_module import LazyModule
from chalicelib.http.operation import Operation
from chalicelib.storage import Document

if TYPE_CHECKING:
    from chalicelib.clients import models
else:
    models = LazyModule("chalicelib.clients.models")

routes = Blueprint(__name__)
references.declare("client", store.key)

_LISTED = "Clients retrieved successfully"
_SEARCHED = ("name", "email")


@routes.route("/v2/clients", methods=["GET"])  # §4.2
@Operation(data="list[models.Client]", query=("limit", "cursor"))
def list_clients() -> Response:
    """List the workspace's clients, ordered by id.

    Without `limit` or `cursor`, the response contains all clients. With either, it contains one page, plus
    `nextCursor` unless this is the last page.
    """
    fetch = partial(store.list_page, auth.caller().workspace_id)
    return pages.all_or_page(_LISTED, fetch, lambda row: _render(row, row.open()))


@routes.route("/v2/clients", methods=["PUT"])
@Operation(
    body="models.Client", data="models.Client", creates=True, warns=True, raises=(store.EmailTaken, errors.TooLarge)
)
def put_client() -> Response:
    """Create a client. The service generates its id, so each request creates a new client.

    If `orgId` matches no organisation, `warnings` lists it.
    """
    return _create(bodies.read(), "")


@routes.route("/v2/clients/{client_id}", methods=["GET"])  # §4.2
@Operation(data="models.Client", headers=("If-None-Match",), raises=(errors.NotFound,))
def read_client(client_id: str) -> Response:
    """Read a client. The response contains `dashboardPassword` as it was sent."""
    row = store.read(auth.caller().workspace_id, client_id)
    return etag.tagged(responses.success("Client retrieved successfully", _render(row, row.open())), row)


@routes.route("/v2/clients/{client_id}", methods=["POST"])  # §4.2
@Operation(
    body="models.Client",
    warns=True,
    headers=("If-Match", "If-None-Match"),
    raises=(errors.Stale, store.EmailTaken, errors.TooLarge),
)
def save_client(client_id: str) -> Response:
    """Create or change a client. Members that you leave out keep their values, and `null` clears a member.

    An email can belong to only one client in a workspace. If `orgId` matches no organisation, `warnings` lists it.
    """
    change: models.Client = bodies.read()
    workspace_id = auth.caller().workspace_id
    stored = etag.check_preconditions(store.find(workspace_id, client_id))
    row, before = (stored, stored.open()) if stored else (store.new(workspace_id, client_id), {})
    store.save(row, before, change.merge_into(before))
    return etag.tagged(responses.success("Client updated successfully", None, _warnings(change)), row)


@routes.route("/v2/clients/{client_id}", methods=["DELETE"])
@Operation(headers=("If-Match",), raises=(errors.NotFound, errors.Stale))
def delete_client_v2(client_id: str) -> Response:
    """Delete a client. Another client can then use its email."""
    return _delete(client_id)


@routes.route("/v3/clients", methods=["GET"])
@Operation(data="list[models.Client]", query=("limit", "cursor", "orgId", "q"), bounded=True)
def list_clients_v3() -> Response:
    """List the workspace's clients that match all filters, ordered by id.

    `q` searches the name and the email. A request examines up to 500 clients, so a page may be short or empty. While
    `hasMore` is true, pass `nextCursor` as `cursor` to continue.
    """
    return _search(parameters.limit(), parameters.cursor(), parameters.text("orgId"), parameters.search_text("q"))


@routes.route("/v3/orgs/{org_id}/clients", methods=["GET"])
@Operation(data="list[models.Client]", query=("limit", "cursor"), bounded=True, raises=(errors.NotFound,))
def list_organisation_clients(org_id: str) -> Response:
    """List the clients whose `orgId` is this organisation's id, ordered by id.

    A request examines up to 500 clients, so a page may be short or empty. While `hasMore` is true, pass `nextCursor` as
    `cursor` to continue.
    """
    limit, cursor = parameters.limit(), parameters.cursor()
    references.require("organisation", auth.caller().workspace_id, org_id)
    return _search(limit, cursor, org_id, "")


@routes.route("/v3/clients", methods=["POST"])
@Operation(
    body="models.ClientIn", data="models.Client", creates=True, warns=True, raises=(store.EmailTaken, errors.TooLarge)
)
def create_client() -> Response:
    """Create a client. The service generates its id. An email address can belong to only one client in a workspace.

    If `orgId` matches no organisation, `warnings` lists it. If an access token sets `dashboardPassword`,
    `warnings` lists it, because the password remains valid after the token becomes invalid.
    """
    body: models.ClientIn = bodies.read()
    return _create(body.client, "client.")


@routes.route("/v3/clients/{client_id}", methods=["DELETE"])
@Operation(headers=("If-Match",), raises=(errors.NotFound, errors.Stale))
def delete_client(client_id: str) -> Response:
    """Delete a client. Another client can then use its email."""
    return _delete(client_id)


def _search(limit: int, cursor: str | None, organisation: str | None, text: str) -> Response:
    """Return a page of the clients that contain `text` and, unless `organisation` is None, belong to `organisation`."""

    def show(row: store.ClientRow, document: Document) -> Document | None:
        is_listed = organisation in (None, document.get("orgId")) and parameters.contains(document, _SEARCHED, text)
        return _render(row, document) if is_listed else None

    rows = pages.in_portions(partial(store.list_page, auth.caller().workspace_id), cursor, limit)
    return pages.bounded_page(_LISTED, pages.examine(rows, show), limit)


def _create(client: "models.Client", path: str) -> Response:
    row, document = store.new(auth.caller().workspace_id, ids.new_id()), client.merge_into({})
    store.save(row, {}, document)
    warnings = _warnings(client, path)
    if client.dashboardPassword:
        warnings = [*warnings, *privileges.warn_of_lasting(f"{path}dashboardPassword")]
    return etag.tagged(responses.success("Client created successfully", _render(row, document), warnings), row)


def _warnings(change: "models.Client", path: str = "") -> list[errors.MemberIssue]:
    """Return a warning if the organisation does not exist. `path` is the client's path in the body."""
    ids = {f"{path}orgId": change.orgId} if change.orgId is not None else {}
    return references.warn_of_missing(auth.caller().workspace_id, references.References(ids, "organisation"))


def _delete(client_id: str) -> Response:
    store.delete(etag.require_match(store.find(auth.caller().workspace_id, client_id), "client"))
    return responses.success("Client deleted successfully")


def _render(row: store.ClientRow, document: Document) -> Document:
    client = {"ID": row.client_id, "ownerID": row.workspace, "orgUsers": [], **document}
    return privileges.visible(client, lambda: models.Client)
