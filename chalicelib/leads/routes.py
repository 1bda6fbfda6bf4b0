"""Leads over HTTP. The specification has no routes for leads (§6)."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import errors, ids
from chalicelib.agents import store as agents
from chalicelib.http import auth, bodies, etag, files, pages, parameters, privileges, responses
from chalicelib.http.lazy_module import LazyModule
from chalicelib.http.operation import Operation
from chalicelib.leads import listing, store
from chalicelib.storage import Document

if TYPE_CHECKING:
    from chalicelib.leads import export, models
else:
    export = LazyModule("chalicelib.leads.export")
    models = LazyModule("chalicelib.leads.models")

routes = Blueprint(__name__)

_DEFAULTS = {"channel": "web-chat"}


@routes.route("/v3/leads", methods=["POST"])
@Operation(
    body="models.LeadIn",
    data="models.Lead",
    creates=True,
    warns=True,
    headers=("Prefer",),
    raises=(errors.NotFound, errors.TooLarge),
)
def create_lead() -> Response:
    """Create a lead for an agent. This sends the webhook `lead_captured`.

    Members that are unknown to the service are stored as sent, and `warnings` lists them.
    """
    body: models.LeadIn = bodies.read()
    lead = {**_DEFAULTS, **body.lead.merge_into({})}
    workspace_id, agent_id = auth.caller().workspace_id, lead["agentId"]
    name = agents.display_name(agents.read_eventually(workspace_id, agent_id).open())
    row = store.create(workspace_id, agent_id, {**lead, "agentName": name} if name else lead)
    return etag.tagged(responses.success("Lead created successfully", _render(row)), row)


@routes.route("/v3/agents/{agent_id}/leads", methods=["GET"])
@Operation(data="list[models.Lead]", query=("limit", "cursor"), raises=(errors.NotFound,))
def list_leads(agent_id: str) -> Response:
    """List an agent's leads, newest first. The response contains `nextCursor` unless it is the last page."""
    return pages.page("Leads retrieved successfully", partial(_fetch, agent_id), _render)


@routes.route("/v3/leads", methods=["GET"])
@Operation(
    data="list[models.Lead]",
    query=("page", "limit", "cursor", *listing.NAMES),
    position=ids.ULID,
    bounded=True,
    optional_members=("page", "total", "totalPages"),
)
def list_all_leads() -> Response:
    """List the workspace's leads that match all filters, newest first.

    `searchTerm` searches the name, the email, the phone number and the agent's name. A request examines up to 500
    leads, so a page may be short or empty. While `hasMore` is true, pass `nextCursor` as `cursor` to continue. With
    `page`, the response contains `total` and `totalPages`, unless there are more leads than a request examines. In that
    case, only the last page contains `nextCursor`. The request fails with 413 if the page does not fit in a response.
    Without `agentId`, a new or changed lead may appear in the list a second later.
    """
    limit, query = parameters.limit(), listing.LeadQuery.from_request()
    return pages.numbered_or_bounded_page("Leads retrieved successfully", _examine(query, limit), limit, "page")


@routes.route("/v3/leads/export", methods=["GET"])
@Operation(
    files=tuple(files.MEDIA.values()),
    query=("format", "limit", "cursor", *listing.NAMES),
    requires=("format",),
    position=ids.ULID,
    bounded=True,
)
def export_leads() -> Response:
    """Export the leads that `GET /v3/leads` lists, as NDJSON or CSV. The concatenated pages form one file.

    With `ndjson`, each line is a lead. With `csv`, each row is a lead, with `createdAt` in ISO 8601. The `Link` header
    contains the next page's URL. A page may be short or empty.
    """
    limit, query, form = parameters.limit(), listing.LeadQuery.from_request(), files.format_from_request(files.MEDIA)
    records, position = pages.take_bounded(_examine(query, limit), limit)
    heading = files.heading(form, export.COLUMNS) if query.after is None else ""
    return files.response(form, heading + export.text(records, form), position)


@routes.route("/v3/leads/{lead_id}", methods=["GET"])
@Operation(data="models.Lead", headers=("If-None-Match",), raises=(errors.NotFound,))
def read_lead(lead_id: str) -> Response:
    """Read a lead. `agentName` is the agent's title at the time of capture."""
    row = store.read(auth.caller().workspace_id, lead_id)
    return etag.tagged(responses.success("Lead retrieved successfully", _render(row)), row)


@routes.route("/v3/leads/{lead_id}", methods=["PATCH"])
@Operation(
    body="models.LeadChangeIn",
    data="models.Lead",
    warns=True,
    headers=("If-Match", "Prefer"),
    raises=(errors.NotFound, errors.Stale, errors.TooLarge),
)
def change_lead(lead_id: str) -> Response:
    """Change a lead. Members that you leave out keep their values, and `null` clears a member. No webhook is sent.

    Members that are unknown to the service are stored as sent, and `warnings` lists them.
    """
    body: models.LeadChangeIn = bodies.read()
    row = etag.require_match(store.find(auth.caller().workspace_id, lead_id), "lead")
    before = row.open()
    after = {**_DEFAULTS, **body.lead.merge_into(before)}
    store.save(row, before, after)
    return etag.tagged(responses.success("Lead updated successfully", _render(row, after)), row)


@routes.route("/v3/leads/{lead_id}", methods=["DELETE"])
@Operation(headers=("If-Match",), raises=(errors.NotFound, errors.Stale))
def delete_lead(lead_id: str) -> Response:
    """Delete a lead. Deleting an agent also deletes its leads."""
    store.delete(etag.require_match(store.find(auth.caller().workspace_id, lead_id), "lead"))
    return responses.success("Lead deleted successfully")


def _fetch(agent_id: str, before: str | None, limit: int) -> Iterator[store.LeadRow]:
    workspace_id = auth.caller().workspace_id
    rows = store.list_page(workspace_id, agent_id, before, limit)
    return pages.unless_empty(rows, lambda: agents.read(workspace_id, agent_id))  # 404 for an unknown agent


def _examine(query: listing.LeadQuery, limit: int) -> Iterator[pages.Examined]:
    rows = listing.rows(auth.caller().workspace_id, query, limit)
    return pages.examine(rows, lambda row, lead: _render(row, lead) if query.match(lead) else None)


def _render(row: store.LeadRow, document: Document | None = None) -> Document:
    return privileges.visible({"id": row.lead_id, **(document or row.open())}, lambda: models.Lead)
