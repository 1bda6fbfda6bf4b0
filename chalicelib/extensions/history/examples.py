"""Examples of the history and of versions. No function has kept the changes of other examples, except deletions."""

from typing import Any

from chalicelib.openapi.examples.agents import SUPPORT_V3_FINAL
from chalicelib.openapi.examples.shared import NOW_ISO, Example, Examples, success
from chalicelib.openapi.examples.tools import CHANGED

_CHANGE_ID = "06fgz0x9w5a2m7d4k9q1t6v3xb"
_KEY_ID = "06fgz0x9w5b8n3h6r1c5w9y2fz"
_TOKEN = "tokens/06fgz0x9w4t7x2v8b5r1j9n3qg"  # noqa: S105 - an id, not a token
GENERATED = frozenset({_CHANGE_ID, _KEY_ID, _TOKEN})

_DELETION = {
    "id": _CHANGE_ID,
    "resource": _TOKEN,
    "operation": "delete",
    "at": NOW_ISO,
    "by": {"kind": "workspace", "id": _KEY_ID, "name": "first key"},
    "changed": [],
}
_NO_VERSIONS = {
    "none": Example(
        "A version appears here a few seconds later",
        {**success("Versions retrieved successfully", []), "hasMore": False},
    )
}


def _version(verb: str, record: dict[str, Any]) -> dict[str, Example]:
    return {"latest": Example("The latest version", success(f"Version {verb} successfully", record))}


LIST_CHANGES: Examples = {
    "deletion": Example(
        "The deletion of an access token",
        {**success("History retrieved successfully", [_DELETION]), "hasMore": False},
    )
}
LIST_AGENT_VERSIONS: Examples = _NO_VERSIONS
READ_AGENT_VERSION: Examples = _version("retrieved", SUPPORT_V3_FINAL)
RESTORE_AGENT: Examples = _version("restored", {**SUPPORT_V3_FINAL, "tools": [CHANGED]})
LIST_TOOL_VERSIONS: Examples = _NO_VERSIONS
READ_TOOL_VERSION: Examples = _version("retrieved", CHANGED)
RESTORE_TOOL: Examples = _version("restored", CHANGED)
