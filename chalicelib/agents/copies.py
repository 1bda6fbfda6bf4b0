"""Copies of an agent with its tools. All are created in one transaction, with new ids and a new agent key.

`assignedToolsIds` of an agent, and `toolsIds` of its nodes, refer to tools by id. A copy refers to the copies of these
tools. Ids that are unique inside the record only, of nodes and of fields, stay.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from chalicelib import errors, ids
from chalicelib.agents import store
from chalicelib.storage import Document, DocumentRow
from chalicelib.tools import store as tools

# Tools that a transaction creates with their agent. A transaction has at most 100 items and 4 MB. The agent takes three
# items, an `Idempotency-Key` takes one.
MAX_TOOLS = 96
_MAX_TRANSACTION = 4_000_000
# Characters of the JSON of an agent and its tools, which bound the memory of a request.
_MAX_JSON = 6_000_000
_TOO_LARGE = "The agent and its tools are too large."
_AGENT_KEY = "SECRET_API_KEY"


def open_all(rows: Sequence[DocumentRow]) -> list[Document]:
    """Return the documents of these rows. Raise TooLarge for more than 6 MB of JSON, which may be small in storage."""
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
    """Return the agent and all its tools, if one transaction can create as much. One request per MB, 4 MB at most.

    Raise NotFound, and TooLarge for more than 96 tools or 4 MB.
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
    """Stage a copy of an agent and its tools.

    All members are copied, secret ones too, but the agent key is new.
    """
    agent = store.require_agent(source.agent)
    agent_id = ids.new_id()
    whole, *tool_documents = open_all([agent, *source.tools])
    document = {name: value for name, value in whole.items() if name != _AGENT_KEY}
    owned = [_owned_by(agent_id, agent.agent_id, tool) for tool in tool_documents]
    new_tools = tools.create(workspace_id, agent_id, owned)
    new_ids = {tool.tool_id: copy.tool_id for tool, copy in zip(source.tools, new_tools, strict=True)}
    document = with_references(document, lambda tool_id, path: new_ids.get(tool_id, tool_id))
    return Copy(*store.create(workspace_id, agent_id, document), new_tools)


def with_references(document: Document, translate: Callable[[str, str], str | None]) -> Document:
    """Return the document of an agent with other references to tools.

    `translate` returns the new reference for a reference and its path, None to omit it.
    """
    changed = _translated(document, "assignedToolsIds", "", translate)
    if "nodes" in document:
        nodes = enumerate(document["nodes"])
        changed["nodes"] = [_translated(node, "toolsIds", f"nodes.{number}.", translate) for number, node in nodes]
    return changed


def _while_small(
    further: Iterable[tools.ToolRow], agent: store.AgentRow, read: list[tools.ToolRow]
) -> Iterator[tools.ToolRow]:
    """Yield the `further` tools of an agent. Raise TooLarge when all do not fit in one transaction.

    The tools in `read` count as well.
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


def _owned_by(agent_id: str, before: str, tool: Document) -> Document:
    """Return a tool whose fields refer to this agent instead of `before`."""
    if not tool.get("fields"):
        return tool
    own = {"agentId": agent_id}
    fields = ({**field, **own} if field.get("agentId") == before else field for field in tool["fields"])
    return {**tool, "fields": [*fields]}
