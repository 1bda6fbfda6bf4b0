"""Examples of copies of the agent in `agents`, with its tool in `tools`."""

from typing import Any

from chalicelib.openapi.examples.agents import SUPPORT_V3_FINAL
from chalicelib.openapi.examples.shared import CLONE_ID, CLONE_KEY, CLONED_TOOL_ID, Example, Examples, success
from chalicelib.openapi.examples.tools import CHANGED

_CLONED: dict[str, Any] = {
    **SUPPORT_V3_FINAL,
    "ID": CLONE_ID,
    "id": CLONE_ID,
    "SECRET_API_KEY": CLONE_KEY,
    "tools": [{**CHANGED, "id": CLONED_TOOL_ID, "agentId": CLONE_ID}],
}

CLONE_AGENT: Examples = {"clone": Example("The new agent", success("Agent cloned successfully", _CLONED))}
