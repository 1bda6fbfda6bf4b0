"""Tools over HTTP (§4.1)."""

from functools import partial
from typing import Any

from chalice.app import Blueprint, Response

from chalicelib import clock, storage
from chalicelib.http import auth, etag, messages, pages
from chalicelib.http.operation import operation
from chalicelib.tools import store

routes = Blueprint(__name__)

_NEW = {"method": "GET"}


@routes.route("/v3/agents/{agent_id}/tools", methods=["GET"])
@operation(data="list[models.Tool]", query=("limit", "cursor"))
def list_tools(agent_id: str) -> Response:
    """List the tools of an agent, oldest first.

    All at once; with `limit` or `cursor` in pages, and `nextCursor` is there when there are more.
    """
    listed = partial(store.listed, auth.caller().workspace_id, agent_id)
    return pages.whole_or_page("Tools retrieved successfully", listed, lambda row: _shown(row.tool_id, row.open()))


@routes.route("/v3/agents/{agent_id}/tools", methods=["POST"])
@operation(body="models.ToolIn", data="models.Tool")
def create_tool(agent_id: str) -> Response:
    """Create a tool of an agent. `name` is required, `method` is `GET` when it is left out."""
    from chalicelib.tools.models import ToolIn

    document = _with_field_ids(messages.body(ToolIn).tool.merge_into(_NEW))
    row = store.create(auth.caller().workspace_id, agent_id, document)
    return etag.tagged(messages.success("Tool created successfully", _shown(row.tool_id, row.open())), row)


@routes.route("/v3/tools/{tool_id}", methods=["GET"])
@operation(data="models.Tool", headers=("If-None-Match",))
def read_tool(tool_id: str) -> Response:
    """Read a tool."""
    row = store.read(auth.caller().workspace_id, tool_id)
    return etag.tagged(messages.success("Tool retrieved successfully", _shown(tool_id, row.open())), row)


@routes.route("/v3/tools/{tool_id}", methods=["PATCH"])
@operation(body="models.ToolChange", data="models.Tool", headers=("If-Match",))
def change_tool(tool_id: str) -> Response:
    """Change a tool: members that are left out stay, `fields` is replaced as a whole, `null` clears."""
    from chalicelib.tools.models import ToolChange

    change = messages.body(ToolChange).tool

    def changed() -> tuple[store.ToolRow, dict[str, Any]]:
        row = etag.require_match(store.find(auth.caller().workspace_id, tool_id), "tool")
        return row, store.save(row, before := row.open(), _with_field_ids(change.merge_into(before)))

    row, document = storage.retry_on_conflict(changed)
    return etag.tagged(messages.success("Tool updated successfully", _shown(tool_id, document)), row)


@routes.route("/v3/tools/{tool_id}", methods=["DELETE"])
@operation(headers=("If-Match",))
def delete_tool(tool_id: str) -> Response:
    """Delete a tool."""
    workspace_id = auth.caller().workspace_id
    storage.retry_on_conflict(lambda: store.delete(etag.require_match(store.find(workspace_id, tool_id), "tool")))
    return messages.success("Tool deleted successfully")


def _shown(tool_id: str, document: dict[str, Any]) -> dict[str, Any]:
    return {"id": tool_id, **document}


def _with_field_ids(document: dict[str, Any]) -> dict[str, Any]:
    fields = document.get("fields")
    if fields is None:
        return document
    return {**document, "fields": [{**field, "id": field.get("id") or clock.new_id()} for field in fields]}
