"""Copies agents with their tools. A single transaction creates the whole copy, with new ids and a new agent key.

An agent's `assignedToolsIds`, and its nodes' `toolsIds`, refer to tools by id. In a copy, these members refer to the
copied tools. Node and field ids stay the same, because they only have to be unique within their record.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from chalicelib import errors, ids
from chalicelib.agents import store
from chalicelib.storage import Document, DocumentRow
from chalicelib.tools import store as tools

# Maximum tools that one transaction can create together with their agent. A transaction has at most 100 items and 4 MB.
# The agent needs three items, and an `Idempotency-Key` needs one.
MAX_TOOLS = 96
_MAX_TRANSACTION = 4_000_000
# Maximum characters in the JSON of an agent and its tools, to limit memory use per request.
_MAX_JSON = 6_000_000
_TOO_LARGE = "The agent and its tools are too large."
_AGENT_KEY = "SECRET_API_KEY"


def open_all(rows: Sequence[DocumentRow]) -> list[Document]:
    """Return these rows' documents. Raise TooLarge if their uncompressed JSON exceeds 6 MB."""
    documents, size = [], 0
    for row in rows:
        text = row.text()
        size += len(text)
        if size > _MAX_JSON:
            raise errors.TooLarge(_TOO_LARGE)
        documents.append(json.loads(text))
    return documents


class Copy(NamedTuple):
    """A new agent, its document, and its tools."""

    row: store.AgentRow
    document: Document
    tools: list[tools.ToolRow]


def read_with_all_tools(workspace_id: str, agent_id: str) -> store.AgentAndTools:
    """Return an agent and all of its tools, provided that one transaction can create them.

    This costs one request per MB, up to 4 MB. Raise NotFound if the agent does not exist, and TooLarge if there are
    more than 96 tools or 4 MB.
    """
    first_page = store.find_with_tools(workspace_id, agent_id)
    agent, rows = store.require_agent(first_page.agent), first_page.tools
    if not first_page.is_complete:
        last = rows[-1].tool_id if rows else None
        rows = [*rows, *_while_small(tools.list_page(workspace_id, agent_id, last, MAX_TOOLS + 1), agent, rows)]
    if len(rows) > MAX_TOOLS:
        raise errors.TooLarge(f"The agent has more than {MAX_TOOLS} tools.")
    return store.AgentAndTools(agent, rows)


def clone(workspace_id: str, source: store.AgentAndTools) -> Copy:
    """Stage a copy of an agent and its tools. Only the agent key is new; other secrets are copied."""
    agent = store.require_agent(source.agent)
    agent_id = ids.new_id()
    agent_document, *tool_documents = open_all([agent, *source.tools])
    document = {name: value for name, value in agent_document.items() if name != _AGENT_KEY}
    copied_tools = [_with_agent_id(agent_id, agent.agent_id, tool) for tool in tool_documents]
    new_tools = tools.create(workspace_id, agent_id, copied_tools)
    new_ids = {tool.tool_id: copy.tool_id for tool, copy in zip(source.tools, new_tools, strict=True)}
    document = with_references(document, lambda tool_id, path: new_ids.get(tool_id, tool_id))
    return Copy(*store.create(workspace_id, agent_id, document), new_tools)


def with_references(document: Document, translate: Callable[[str, str], str | None]) -> Document:
    """Return an agent's document with its tool references translated.

    `translate` receives a reference and its path. It returns the new reference, or None to omit it.
    """
    changed = _translated(document, "assignedToolsIds", "", translate)
    if "nodes" in document:
        nodes = enumerate(document["nodes"])
        changed["nodes"] = [_translated(node, "toolsIds", f"nodes.{number}.", translate) for number, node in nodes]
    return changed


def _while_small(
    further: Iterable[tools.ToolRow], agent: store.AgentRow, read: list[tools.ToolRow]
) -> Iterator[tools.ToolRow]:
    """Yield an agent's `further` tools. Raise TooLarge if the agent and its tools do not fit into one transaction.

    The size includes the tools in `read`.
    """
    size = sum(len(row.document) for row in (agent, *read))
    for tool in further:
        size += len(tool.document)
        if size > _MAX_TRANSACTION:
            raise errors.TooLarge(_TOO_LARGE)
        yield tool


def _translated(document: Document, name: str, path: str, translate: Callable[[str, str], str | None]) -> Document:
    if name not in document:
        return dict(document)
    references = (translate(tool_id, f"{path}{name}.{number}") for number, tool_id in enumerate(document[name]))
    return {**document, name: [reference for reference in references if reference is not None]}


def _with_agent_id(agent_id: str, before: str, tool: Document) -> Document:
    """Return the tool after replacing the agent id `before` with `agent_id` in each field."""
    if not tool.get("fields"):
        return tool
    new_id = {"agentId": agent_id}
    fields = ({**field, **new_id} if field.get("agentId") == before else field for field in tool["fields"])
    return {**tool, "fields": [*fields]}
