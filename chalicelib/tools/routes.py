"""Tools over HTTP (§4.1)."""

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import errors
from chalicelib.http import auth, bodies, etag, pages, privileges, references, responses
from chalicelib.http.lazy_module import LazyModule
from chalicelib.http.operation import Operation
from chalicelib.storage import Document
from chalicelib.tools import store

if TYPE_CHECKING:
    from chalicelib.tools import models
else:
    models = LazyModule("chalicelib.tools.models")

routes = Blueprint(__name__)


@routes.route("/v3/agents/{agent_id}/tools", methods=["GET"])  # §4.1
@Operation(data="list[models.Tool]", query=("limit", "cursor"), raises=(errors.NotFound,))
def list_tools(agent_id: str) -> Response:
    """List an agent's tools, oldest first.

    Without `limit` or `cursor`, the response contains all tools. With either, it contains one page, plus `nextCursor`
    unless this is the last page.
    """
    fetch = partial(_fetch, agent_id)
    return pages.all_or_page("Tools retrieved successfully", fetch, lambda row: _render(row.tool_id, row.open()))


@routes.route("/v3/agents/{agent_id}/tools", methods=["POST"])  # §4.1
@Operation(
    body="models.ToolIn", data="models.Tool", creates=True, warns=True, raises=(errors.NotFound, errors.TooLarge)
)
def create_tool(agent_id: str) -> Response:
    """Create a tool for an agent. `name` is required; `method` defaults to `GET`."""
    body: models.ToolIn = bodies.read()
    workspace_id = auth.caller().workspace_id
    references.require_eventually_consistent("agent", workspace_id, agent_id)
    (row,) = store.create(workspace_id, agent_id, [body.tool.merge_into(store.DEFAULTS)])
    return etag.tagged(responses.success("Tool created successfully", _render(row.tool_id, row.open())), row)


@routes.route("/v3/tools/{tool_id}", methods=["GET"])  # §4.1
@Operation(data="models.Tool", headers=("If-None-Match",), raises=(errors.NotFound,))
def read_tool(tool_id: str) -> Response:
    """Read a tool. An agent's v3 form also contains its tools."""
    row = store.read(auth.caller().workspace_id, tool_id)
    return etag.tagged(responses.success("Tool retrieved successfully", _render(tool_id, row.open())), row)


@routes.route("/v3/tools/{tool_id}", methods=["PATCH"])  # §4.1
@Operation(
    body="models.ToolChange",
    data="models.Tool",
    warns=True,
    headers=("If-Match",),
    raises=(errors.NotFound, errors.Stale, errors.TooLarge),
)
def change_tool(tool_id: str) -> Response:
    """Change a tool. Members that you leave out keep their values, and `null` clears a member.

    `fields` is replaced as a whole. If the token cannot read secrets, a field whose id is a stored field's id, but
    which has no `value` or `defaultValue`, keeps the stored one.
    """
    change: models.ToolChange = bodies.read()
    row = etag.require_match(store.find(auth.caller().workspace_id, tool_id), "tool")
    before = row.open()
    after = store.save(
        row, before, privileges.keep_hidden("fields", before, change.tool.merge_into(before), lambda: models.Tool)
    )
    return etag.tagged(responses.success("Tool updated successfully", _render(tool_id, after)), row)


@routes.route("/v3/tools/{tool_id}", methods=["DELETE"])
@Operation(headers=("If-Match",), raises=(errors.NotFound, errors.Stale))
def delete_tool(tool_id: str) -> Response:
    """Delete a tool. Its agent's v3 form no longer contains it."""
    store.delete(etag.require_match(store.find(auth.caller().workspace_id, tool_id), "tool"))
    return responses.success("Tool deleted successfully")


def _fetch(agent_id: str, after: str | None, limit: int | None) -> Iterator[store.ToolRow]:
    workspace_id = auth.caller().workspace_id
    rows = store.list_page(workspace_id, agent_id, after, limit)
    return pages.unless_empty(rows, lambda: references.require("agent", workspace_id, agent_id))


def _render(tool_id: str, document: Document) -> Document:
    return {"id": tool_id, **privileges.visible(document, lambda: models.Tool)}
