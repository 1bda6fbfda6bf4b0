"""The wire models of templates."""

from chalicelib.agents.nodes import Node
from chalicelib.agents.record import AgentV3 as AgentV3
from chalicelib.agents.record import NewAgent as NewAgent
from chalicelib.conversations.models import Issue
from chalicelib.http.wire import Open, OptionalText, WireModel, omitted
from chalicelib.tools.models import NewTool


class Template(WireModel):
    """An agent and its `tools`, without secrets or ids. `agentData` contains the agent's other members.

    `assignedToolsIds` and a node's `toolsIds` refer to a tool by its position in `tools`: `tools.0` is the first.
    """

    name: OptionalText = None
    description: OptionalText = None
    nodes: list[Node] | None = None
    tools: list[NewTool] | None = None
    variables: list[Open] | None = None
    agentData: NewAgent | None = None
    workspaceId: OptionalText = None


class ExportedTemplate(WireModel):
    """The response that contains a template."""

    # A template is returned in the form in which it is imported.
    has_one_form = True

    success: bool
    message: str
    agentTemplate: Template
    warnings: list[Issue] = omitted()


class TemplateIn(WireModel):
    """The body of POST /v3/agents/import-template. `agentName` replaces the template's name."""

    agentTemplate: Template
    agentName: OptionalText = None
    fromAgentId: OptionalText = None
