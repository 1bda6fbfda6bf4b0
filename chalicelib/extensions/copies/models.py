"""The wire models of templates."""

from chalicelib.agents.record import AgentV3 as AgentV3
from chalicelib.http.wire import WireModel
from chalicelib.tools.models import Tool, ToolName


class TemplateTool(Tool):
    """A tool in a template. `name` is required."""

    name: ToolName


class Template(AgentV3):
    """An agent and its `tools`, without secrets or ids.

    `assignedToolsIds` and a node's `toolsIds` refer to a tool by its position in `tools`: `tools.0` is the first.
    """

    tools: list[TemplateTool] | None = None  # type: ignore[assignment]


class TemplateIn(WireModel):
    """The body of POST /v3/agents/import."""

    template: Template
