"""Generates `chalicelib/extensions/mcp/tools.json` from the OpenAPI document.

The schemas describe only what a model needs: they have no nulls, patterns and limits, and no members that are secret or
read-only. The operations check everything else, and their errors name the member and the rule.
"""

import re
from pathlib import Path
from typing import Any, NamedTuple

from chalicelib.extensions import mcp
from tests.openapi.document import Document, resolved

FILE = Path(mcp.__file__).with_name("tools.json")

Schema = dict[str, Any]


class Listed(NamedTuple):
    """A tool: the operation's id and the text about the tool, and what differs from other tools.

    `tools.AssistantTool` describes `records`, `columns`, `title` and `fixed`. The tool has no arguments for the
    parameters in `left_out`.
    """

    name: str
    text: str
    operation: str = ""
    records: str = "data"
    columns: tuple[str, ...] = ()
    title: str = ""
    needs_etag: bool = False
    has_members: bool = False
    left_out: tuple[str, ...] = ()
    fixed: tuple[tuple[str, str], ...] = ()


_AGENT_COLUMNS = ("id", "title", "description", "starred", "deployed", "createdAtUNIX", "lastModified")
TOOLS = (
    Listed(
        "list_agents",
        "List agents, with only the members that identify them.",
        "search_agents",
        records="agents",
        columns=_AGENT_COLUMNS,
        left_out=("workspaceId", "page"),
    ),
    Listed("read_agent", "Read an agent with its tools.", has_members=True),
    Listed("create_agent", "Create an agent."),
    Listed("change_agent", "Change an agent. Omitted members keep their values.", needs_etag=True),
    Listed("delete_agent", "Delete an agent with its tools, conversations and all other records.", title="title"),
    Listed("clone_agent", "Copy an agent with its tools in this workspace."),
    Listed(
        "export_agent", "Read an agent as a template.", "export_template", records="agentTemplate", has_members=True
    ),
    Listed("import_agent", "Create an agent from a template, as export_agent returns it.", "import_template"),
    Listed("list_agent_versions", "List an agent's earlier versions, newest first."),
    Listed("restore_agent", "Restore an earlier version of an agent.", needs_etag=True),
    Listed("report_agent", "Count an agent's conversations and messages in a period."),
    Listed("report_workspace", "Count the workspace's conversations and messages in a period."),
    Listed("list_usage", "List each agent's usage in a period."),
    Listed("read_tool", "Read a tool of an agent. read_agent lists the ids of the tools.", has_members=True),
    Listed("create_tool", "Create a tool, which an agent's model can call."),
    Listed("change_tool", "Change a tool. `fields` is replaced as a whole.", needs_etag=True),
    Listed("delete_tool", "Delete a tool.", title="name"),
    Listed("list_conversations", "List an agent's conversations.", "list_agent_conversations", left_out=("page",)),
    Listed(
        "list_inbox",
        "List all agents' conversations that wait for a person.",
        left_out=("inbox",),
        fixed=(("inbox", "true"),),
    ),
    Listed("search_conversations", "Search an agent's messages for a text, newest conversation first."),
    Listed("read_conversation", "Read a conversation's metadata.", has_members=True),
    Listed("list_messages", "List a conversation's messages.", has_members=True, left_out=("after", "version")),
    Listed("create_conversation", "Create a conversation."),
    Listed("change_conversation", "Change a conversation's metadata.", needs_etag=True),
    Listed("add_messages", "Add messages to a conversation.", "add_conversation_messages", left_out=("after",)),
    Listed("assign_conversation", "Assign a conversation to a client (a person).", needs_etag=True),
    Listed("delete_conversation", "Delete a conversation with its messages.", title="title"),
    Listed("export_conversations", "Read conversations with all of their messages.", left_out=("format",)),
    Listed("list_leads", "List leads, newest first.", "list_all_leads", left_out=("page",)),
    Listed("create_lead", "Create a lead."),
)
# The members of an agent that people change most often. An agent has more than a hundred members.
_AGENT = (
    "title",
    "description",
    "vg_systemPrompt",
    "vg_initMessages",
    "vg_defaultModel",
    "vg_temperature",
    "vg_maxTokens",
    "messagesLimit",
    "lang",
    "deployed",
    "nodes",
)
_AGENT_SCHEMAS = ("NewAgent", "AgentV3Input", "AgentData")
_ARGUMENTS: dict[str, Schema] = {
    "etag": {"type": "string", "description": "The etag of the last read."},
    "members": {"type": "array", "items": {"type": "string"}, "description": "Read only these, such as nodes.0.name."},
    "offset": {"type": "integer", "description": "Where to continue a long member: nextOffset."},
    "idempotency_key": {"type": "string", "description": "Repeats an identical call on purpose, if new."},
}
# The deepest level of a body's objects that is described.
_DEPTH = 3


def generated(document: Document) -> list[dict[str, Any]]:
    """Return the entries of the file for the operations in an OpenAPI document."""
    operations = {
        operation["operationId"]: (path, method, operation)
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }
    return [
        _entry(tool, *operations[tool.operation or tool.name])
        for tool in TOOLS
        if (tool.operation or tool.name) in operations
    ]


def _entry(tool: Listed, path: str, method: str, operation: Document) -> dict[str, Any]:
    parameters = [resolved(one) for one in operation.get("parameters", ())]
    query = [one for one in parameters if one["in"] == "query" and one["name"] not in tool.left_out]
    times = [one["name"] for one in query if "Unix time" in one.get("description", "")]
    properties: dict[str, Schema] = {one["name"]: {"type": "string"} for one in parameters if one["in"] == "path"}
    required = [*properties, *(one["name"] for one in query if one.get("required"))]
    if "requestBody" in operation:
        body = resolved(operation["requestBody"]["content"]["application/json"]["schema"])
        properties |= _object(body, 0)["properties"]
        required += body.get("required", ())
    properties |= {one["name"]: _parameter(one) for one in query}
    is_new = method == "post" and not tool.needs_etag
    guards = {
        "etag": tool.needs_etag or method == "delete" or tool.name == "add_messages",
        "idempotency_key": is_new,
        "members": tool.has_members,
        "offset": tool.has_members,
    }
    properties |= {name: _ARGUMENTS[name] for name, is_argument in guards.items() if is_argument}
    required += ["etag"] if tool.needs_etag or method == "delete" else []
    if tool.title:
        properties["confirm"] = {"type": "string", "description": f"The record's {tool.title}, or id if it has none."}
        required.append("confirm")
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    return {
        "definition": {
            "name": tool.name,
            "description": tool.text,
            "inputSchema": {**schema, **({"required": required} if required else {})},
            "annotations": {
                "readOnlyHint": method == "get",
                "destructiveHint": method == "delete" or tool.needs_etag,
                "idempotentHint": True,
                "openWorldHint": False,
            },
        },
        "method": method.upper(),
        "path": path,
        "query": [one["name"] for one in query],
        "times": times,
        "fixed": dict(tool.fixed),
        "records": tool.records,
        "columns": tool.columns,
        "title": tool.title,
    }


def _parameter(parameter: Document) -> Schema:
    text = _first_sentence(parameter.get("description", ""))
    if "Unix time" in parameter.get("description", ""):
        return {"type": "string", "format": "date-time", "description": text.replace("Unix time", "time")}
    return {**_schema(parameter["schema"], 0), **({"description": text} if text else {})}


def _schema(schema: Schema, depth: int) -> Schema:
    """Return what a model needs of a schema."""
    name = schema.get("$ref", "").rpartition("/")[2]
    text = _first_sentence(schema.get("description", ""))
    schema = resolved(schema)
    options = [one for one in schema.get("anyOf", ()) if one != {"type": "null"}]
    if options:
        return {**_schema(options[0], depth), **({"description": text} if text else {})}
    types = [one for one in _listed(schema.get("type")) if one != "null"]
    if types == ["object"] and "properties" in schema:
        short = _object(schema, depth, _AGENT if name in _AGENT_SCHEMAS else ())
    elif types == ["array"]:
        short = {"type": "array", **({"items": _schema(schema["items"], depth)} if schema.get("items") else {})}
    else:
        short = {"type": types[0] if len(types) == 1 else types} if types else {}
        short |= {key: schema[key] for key in ("enum", "const") if key in schema}
    return {**short, **({"description": text} if text else {})}


def _object(schema: Schema, depth: int, members: tuple[str, ...] = ()) -> Schema:
    if depth >= _DEPTH:
        return {"type": "object"}
    described = {
        name: _schema(member, depth + 1)
        for name, member in schema["properties"].items()
        if not member.get("readOnly") and not member.get("x-secret") and (not members or name in members)
    }
    required = [name for name in schema.get("required", ()) if name in described]
    return {"type": "object", "properties": described, **({"required": required} if required else {})}


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if value else []


def _first_sentence(text: str) -> str:
    sentence = re.split(r"(?<=[.!?])\s", text.strip().replace("\n", " "))[0]
    return sentence.replace("`", "")
