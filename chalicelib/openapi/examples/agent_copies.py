"""Examples of copies of the agent in `agents`, with its tool in `tools`."""

from typing import Any

from chalicelib.openapi.examples.agents import SUPPORT_V3_FINAL
from chalicelib.openapi.examples.shared import (
    CLONE_ID,
    CLONE_KEY,
    CLONED_TOOL_ID,
    IMPORTED_FIELD_ID,
    IMPORTED_ID,
    IMPORTED_KEY,
    IMPORTED_TOOL_ID,
    NOW,
    NOW_ISO,
    WORKSPACE_ID,
    Example,
    Examples,
    success,
)
from chalicelib.openapi.examples.tools import CHANGED

_SERVICE_SET = ("ID", "id", "ownerID", "createdAtUNIX", "lastModified", "SECRET_API_KEY")
_TOOL_MEMBERS = ("name", "description", "serverUrl", "method", "channels")
_FIELD_MEMBERS = ("in", "key", "type", "required")

_TOOL: dict[str, Any] = {name: CHANGED[name] for name in _TOOL_MEMBERS}
_FIELDS = [{name: field[name] for name in _FIELD_MEMBERS} for field in CHANGED["fields"]]
_TEMPLATE = {
    **{name: value for name, value in SUPPORT_V3_FINAL.items() if name not in _SERVICE_SET},
    "tools": [{**_TOOL, "fields": _FIELDS}],
}
_CLONED = {
    **SUPPORT_V3_FINAL,
    "ID": CLONE_ID,
    "id": CLONE_ID,
    "SECRET_API_KEY": CLONE_KEY,
    "tools": [{**CHANGED, "id": CLONED_TOOL_ID, "agentId": CLONE_ID}],
}
_IMPORTED_TOOL = {
    **_TOOL,
    "fields": [{**field, "id": IMPORTED_FIELD_ID} for field in _FIELDS],
    "id": IMPORTED_TOOL_ID,
    "agentId": IMPORTED_ID,
    "userId": WORKSPACE_ID,
    "createdAt": NOW_ISO,
    "updatedAt": NOW_ISO,
}
_IMPORTED = {
    **_TEMPLATE,
    "ID": IMPORTED_ID,
    "id": IMPORTED_ID,
    "ownerID": WORKSPACE_ID,
    "SECRET_API_KEY": IMPORTED_KEY,
    "createdAtUNIX": NOW,
    "lastModified": NOW,
    "tools": [_IMPORTED_TOOL],
}

CLONE_AGENT: Examples = {"clone": Example("The new agent", success("Agent cloned successfully", _CLONED))}
READ_TEMPLATE: Examples = {
    "template": Example("The agent without secrets and ids", success("Template retrieved successfully", _TEMPLATE))
}
IMPORT_AGENT: Examples = {
    "template": Example("The new agent", success("Agent imported successfully", _IMPORTED), {"template": _TEMPLATE})
}
