"""Examples of the history and of versions. They run before the history has any change of the other examples."""

from typing import Any

from chalicelib.openapi.examples.agents import SUPPORT_V3_FINAL
from chalicelib.openapi.examples.shared import Example, Examples, success
from chalicelib.openapi.examples.tools import CHANGED


def _nothing(message: str) -> dict[str, Example]:
    listed = {**success(message, []), "hasMore": False}
    return {"none": Example("A change appears here a few seconds later", listed)}


def _version(verb: str, record: dict[str, Any]) -> dict[str, Example]:
    return {"latest": Example("The latest version", success(f"Version {verb} successfully", record))}


LIST_CHANGES: Examples = _nothing("History retrieved successfully")
LIST_AGENT_VERSIONS: Examples = _nothing("Versions retrieved successfully")
READ_AGENT_VERSION: Examples = _version("retrieved", SUPPORT_V3_FINAL)
RESTORE_AGENT: Examples = _version("restored", {**SUPPORT_V3_FINAL, "tools": [CHANGED]})
LIST_TOOL_VERSIONS: Examples = _nothing("Versions retrieved successfully")
READ_TOOL_VERSION: Examples = _version("retrieved", CHANGED)
RESTORE_TOOL: Examples = _version("restored", CHANGED)
