"""The wire models of templates."""

from chalicelib.agents.record import AgentV3 as AgentV3
from chalicelib.agents.record import NewAgent as NewAgent
from chalicelib.http.wire import WireModel


class TemplateIn(WireModel):
    """The body of POST /v3/agents/import.

    `assignedToolsIds` and a node's `toolsIds` refer to a tool by its position in `tools`: `tools.0` is the first.
    """

    template: NewAgent
