"""Examples of the tool operations."""

from typing import Any

from chalicelib.openapi.examples.shared import (
    AGENT,
    FIELD_ID,
    NOW_ISO,
    TOOL_ID,
    WORKSPACE_ID,
    Example,
    Examples,
    success,
)

_GIVEN: dict[str, Any] = {
    "name": "find_order",
    "description": "Finds an order by its number.",
    "serverUrl": "https://shop.example.com/orders",
    "serverUrlSecret": "EXAMPLE",
    "channels": ["web-chat"],
    "fields": [{"in": "query", "key": "number", "type": "string", "required": True}],
}
_FIELDS = [{**field, "id": FIELD_ID} for field in _GIVEN["fields"]]
_CREATED = {
    **_GIVEN,
    "fields": _FIELDS,
    "method": "GET",
    "id": TOOL_ID,
    "agentId": AGENT,
    "userId": WORKSPACE_ID,
    "createdAt": NOW_ISO,
    "updatedAt": NOW_ISO,
}
_CHANGE = {"method": "POST", "variablesIds": ["order"], "serverUrlSecret": None}
CHANGED = {
    **{name: value for name, value in _CREATED.items() if name != "serverUrlSecret"},
    "method": "POST",
    "variablesIds": ["order"],
}

CREATE_TOOL: Examples = {
    "tool": Example(
        "A tool with one field; the service adds the method and the field's id",
        success("Tool created successfully", _CREATED),
        {"tool": _GIVEN},
    )
}
LIST_TOOLS: Examples = {"tools": Example("The agent's tools", success("Tools retrieved successfully", [_CREATED]))}
READ_TOOL: Examples = {"tool": Example("The tool", success("Tool retrieved successfully", _CREATED))}
TEST_TOOL: Examples = {
    "found": Example(
        "The tool's server is called; secrets are masked",
        success(
            "Tool called successfully",
            {
                "request": {
                    "method": "GET",
                    "url": "https://shop.example.com/orders?number=1042",
                    "headers": {"X-Tool-Secret": "***"},
                },
                "response": {
                    "status": 200,
                    "headers": {"content-type": "application/json", "content-length": "27"},
                    "body": '{"number":"1042","open":0}\n',
                    "isBase64": False,
                    "isTruncated": False,
                },
                "durationMs": 87,
                "error": None,
            },
        ),
        {"arguments": {"number": "1042"}},
    )
}
CHANGE_TOOL: Examples = {
    "merge": Example(
        "Omitted members keep their values; null clears a member",
        success("Tool updated successfully", CHANGED),
        {"tool": _CHANGE},
    )
}
