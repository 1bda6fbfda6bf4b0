"""Templates: an agent and its tools without secrets or ids, for use in another workspace.

A template refers to a tool by its position in `tools`, such as `tools.0`. It omits references to other agents' tools.
"""

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from chalicelib import errors, ids
from chalicelib.agents import forms, store
from chalicelib.extensions.copies import copies
from chalicelib.extensions.copies.models import AgentV3, NewAgent
from chalicelib.http import projections
from chalicelib.http.wire import Location, WireModel, marked, read_only_members
from chalicelib.storage import Document
from chalicelib.tools import store as tools
from chalicelib.tools.models import Tool

_PLACE = re.compile(r"tools\.(0|[1-9][0-9]?)")
_NAME = "tool"
_PLACE_RULE = "must be a tool's position in tools, such as tools.0"


def of(agent: Document, tool_documents: list[Document], tool_ids: list[str]) -> Document:
    """Build an agent's template from its document and its tools' documents and ids."""
    places = {tool_id: f"tools.{place}" for place, tool_id in enumerate(tool_ids)}
    members = _portable(AgentV3, agent)
    template = copies.with_references(members, lambda tool_id, path: places.get(tool_id))
    portable_tools = [_with_name(_portable(Tool, tool)) for tool in tool_documents]
    return {**template, "tools": portable_tools} if portable_tools else template


def omitted(agent: Document) -> Iterator[Location]:
    """Yield the locations of unknown members. They may be secret, so templates omit them."""
    return _find_undeclared(AgentV3, agent)


def members(template: NewAgent) -> Document:
    """Return the agent members that a template contains, without its tools. Raise Invalid for v2 members."""
    document = forms.merge_v3({}, template, "template")
    document.pop("tools", None)
    return document


def create(workspace_id: str, document: Document, template: NewAgent) -> copies.Copy:
    """Stage an agent with this document and the template's tools.

    No member gets a default value, so the agent's template equals the imported template. Raise Invalid for a reference
    to a missing tool, and TooLarge for more than 96 tools.
    """
    tool_documents = [tool.merge_into({}) for tool in template.tools or ()]
    if len(tool_documents) > copies.MAX_TOOLS:
        raise errors.TooLarge(f"The template has more than {copies.MAX_TOOLS} tools.")
    agent_id = ids.new_id()
    new_tools = tools.create(workspace_id, agent_id, tool_documents)
    document = copies.with_references(document, lambda place, path: _tool_at(new_tools, place, path))
    return copies.Copy(*store.create(workspace_id, agent_id, document), new_tools)


def _with_name(tool: Document) -> Document:
    """Return the tool, and name it if its name is blank, as in an earlier version. Imports reject blank names."""
    return tool if (tool.get("name") or "").strip() else {**tool, "name": _NAME}


def _tool_at(new_tools: list[tools.ToolRow], place: str, path: str) -> str:
    """Return the id of the tool at a position such as `tools.0`. Raise Invalid if the tool does not exist."""
    match = _PLACE.fullmatch(place)
    if match is None or int(match[1]) >= len(new_tools):
        raise errors.Invalid.member(f"template.{path}", _PLACE_RULE)
    return new_tools[int(match[1])].tool_id


def _portable(model: type[WireModel], document: dict[str, Any]) -> dict[str, Any]:
    """Return the parts of `document` that another workspace can use.

    Omit secret members, the document's ids, members that the service sets, and undeclared members, which may be secret.
    """
    return projections.project(model, document, _portable_members)


@cache
def _portable_members(model: type[WireModel]) -> set[str]:
    omitted = projections.secret_members(model) | marked(model, "x-own-id") | read_only_members(model)
    return model.model_fields.keys() - omitted


def _find_undeclared(model: type[WireModel], document: dict[str, Any], location: Location = ()) -> Iterator[Location]:
    """Yield the locations of the members in a stored document that the model does not declare."""
    nested = projections.nested_models(model)
    for name, value in document.items():
        if name not in model.model_fields:
            yield (*location, name)
        elif name in nested and isinstance(value, dict):
            yield from _find_undeclared(nested[name], value, (*location, name))
        elif name in nested and isinstance(value, list):
            for index, entry in enumerate(value):
                if isinstance(entry, dict):
                    yield from _find_undeclared(nested[name], entry, (*location, name, index))
