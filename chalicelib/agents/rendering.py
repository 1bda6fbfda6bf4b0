"""Renders agents in the v3 form. Stored JSON text is copied into responses without being parsed."""

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING

from chalice.app import Response

from chalicelib import errors, storage
from chalicelib.agents import store
from chalicelib.http import auth, etag, json_text, privileges
from chalicelib.http.lazy_module import LazyModule
from chalicelib.storage import Document
from chalicelib.tools import store as tools

if TYPE_CHECKING:
    from chalicelib.agents import record
    from chalicelib.tools import models
else:
    record = LazyModule("chalicelib.agents.record")
    models = LazyModule("chalicelib.tools.models")

_OWNER = "ownerID"
_WITHOUT_TOOLS = ", without its tools, which are too large; list them in pages at /v3/agents/{agent_id}/tools"


def with_tools(
    message: str,
    row: store.AgentRow,
    text: str,
    whole_agent: store.AgentAndTools,
    warnings: Sequence[errors.MemberIssue] = (),
) -> Response:
    """Return a response that contains an agent in the v3 form: the members in the JSON `text`, and its tools."""
    agent = json_text.with_members(_service_members(auth.caller().workspace_id, row.agent_id), _without_owner(text))
    tool_texts = (json_text.with_members({"id": tool.tool_id}, _tool_text(tool)) for tool in whole_agent.tools)
    complete = json_text.with_list(agent, "tools", tool_texts) if whole_agent.is_complete else None
    if complete is None:
        message += _WITHOUT_TOOLS
    others = whole_agent.tools if complete else [row]  # responses without tools have a different ETag
    return etag.tagged(json_text.success(message, complete or agent, warnings), row, others)


def render(row: store.AgentRow) -> Document:
    """Return an agent in the v3 form for a list, without its tools."""
    return v3_form(row.workspace_id, row.agent_id, row.open())


def v3_form(workspace_id: str, agent_id: str, document: Document) -> Document:
    """Return an agent in the v3 form, without its tools, limited to what the caller may see."""
    members = _service_members(workspace_id, agent_id)
    return {**members, **{name: value for name, value in visible(document).items() if name not in members}}


def visible(document: Document) -> Document:
    """Return those members of an agent's document that the caller may see."""
    return privileges.visible(document, lambda: record.AgentV3)


def encode(document: Document) -> str:
    """Return an agent's document as JSON text, limited to what the caller may see."""
    return storage.encode_json(visible(document)).decode()


def _tool_text(tool: tools.ToolRow) -> str:
    """Return a tool as JSON text, limited to what the caller may see."""
    if privileges.sees_secrets():
        return tool.text()
    return storage.encode_json(privileges.visible(tool.open(), lambda: models.Tool)).decode()


def _service_members(workspace_id: str, agent_id: str) -> dict[str, str]:
    """Return the members that are derived from an agent's key and are not stored."""
    return {"ID": agent_id, "id": agent_id, _OWNER: workspace_id}


def _without_owner(text: str) -> str:
    """Return a document's JSON text without `ownerID`, which earlier versions stored as sent."""
    if f'"{_OWNER}"' not in text:  # the usual case
        return text
    document = json.loads(text)
    document.pop(_OWNER, None)
    return storage.encode_json(document).decode()
