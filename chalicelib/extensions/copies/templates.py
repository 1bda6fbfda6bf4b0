"""Templates: an agent and its tools without secrets or ids, for use in another workspace.

A template refers to a tool by its position in `tools`, such as `tools.0`, or by the tool's `id` if it has one. An
exported template contains only positions, and omits references to other agents' tools.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

from chalicelib import errors, ids
from chalicelib.agents import forms, store
from chalicelib.extensions.copies import copies
from chalicelib.extensions.copies.models import AgentV3, NewAgent, Template, TemplateIn
from chalicelib.http import bodies, projections
from chalicelib.http.wire import Location, WireModel, marked, read_only_members
from chalicelib.storage import Document
from chalicelib.tools import store as tools
from chalicelib.tools.models import Tool

# The template members that are agent members, with their names in the agent.
_TOP_MEMBERS = {"name": "title", "description": "description", "nodes": "nodes"}
_NAME = "tool"
_PLACE_RULE = "must be a tool's position in tools, such as tools.0, or a tool's id"


def of(workspace_id: str, agent: Document, tool_documents: list[Document], tool_ids: list[str]) -> Document:
    """Build an agent's template from its document and its tools' documents and ids."""
    places = {tool_id: f"tools.{place}" for place, tool_id in enumerate(tool_ids)}
    portable = {"nodes": [], **_portable(AgentV3, agent)}
    members = copies.with_references(portable, lambda tool_id, path: places.get(tool_id))
    return {
        **{name: members.pop(member, "") for name, member in _TOP_MEMBERS.items()},
        "tools": [_with_name(_portable(Tool, tool)) for tool in tool_documents],
        "variables": [],
        "agentData": members,
        "workspaceId": workspace_id,
    }


def omitted(agent: Document) -> Iterator[str]:
    """Yield the paths of unknown members. They may be secret, so templates omit them."""
    return (path_of(bodies.dotted(location)) for location in _find_undeclared(AgentV3, agent))


def path_of(path: str) -> str:
    """Return the path in an import's body of the agent member at `path`."""
    return f"agentTemplate.{path}" if path.startswith("nodes.") else f"agentTemplate.agentData.{path}"


def members(body: TemplateIn) -> Document:
    """Return the agent members that a template contains, without its tools. Raise Invalid for v2 members."""
    template = body.agentTemplate
    document = forms.merge_v3({}, template.agentData or NewAgent(), "agentTemplate.agentData")
    document.pop("tools", None)
    sent = {member: getattr(template, name) for name, member in _TOP_MEMBERS.items()}
    sent |= {"title": body.agentName} if body.agentName else {}
    sent = {member: value for member, value in sent.items() if value}
    return forms.merge_v3(document, AgentV3.model_construct(**sent), "agentTemplate")


def create(workspace_id: str, document: Document, template: Template) -> copies.Copy:
    """Stage an agent with this document and the template's tools.

    No member gets a default value, so the agent's template equals the imported template. Raise Invalid for a reference
    to a missing tool, and TooLarge for more than 96 tools.
    """
    sent = template.tools or (template.agentData and template.agentData.tools) or []
    if len(sent) > copies.MAX_TOOLS:
        raise errors.TooLarge(f"The template has more than {copies.MAX_TOOLS} tools.")
    agent_id = ids.new_id()
    new_tools = tools.create(workspace_id, agent_id, [tool.merge_into({}) for tool in sent])
    tool_ids = {f"tools.{place}": tool.tool_id for place, tool in enumerate(new_tools)}
    tool_ids |= {old.id: new.tool_id for old, new in zip(sent, new_tools, strict=True) if old.id}

    def translate(place: str, path: str) -> str:
        if place not in tool_ids:
            raise errors.Invalid.member(path_of(path), _PLACE_RULE)
        return tool_ids[place]

    return copies.Copy(*store.create(workspace_id, agent_id, copies.with_references(document, translate)), new_tools)


def _with_name(tool: Document) -> Document:
    """Return the tool, and name it if its name is blank, as in an earlier version. Imports reject blank names."""
    return tool if (tool.get("name") or "").strip() else {**tool, "name": _NAME}


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
