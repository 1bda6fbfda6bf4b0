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
    """Return the documents of these rows. Raise TooLarge for more than 6 MB of JSON, which may compress well."""
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


def read_whole(workspace_id: str, agent_id: str) -> store.AgentAndTools:
    """Return the agent and all its tools, if one transaction can create as much. One request per MB, 4 MB at most.

    Raise NotFound, and TooLarge for more than 96 tools or 4 MB.
    """
    found = store.find_with_tools(workspace_id, agent_id)
    agent, taken = store.require_found(found.agent), found.tools
    if not found.is_complete:
        last = taken[-1].tool_id if taken else None
        taken = [*taken, *_while_small(tools.list_page(workspace_id, agent_id, last, MAX_TOOLS + 1), agent, taken)]
    if len(taken) > MAX_TOOLS:
        raise errors.TooLarge(f"The agent has more than {MAX_TOOLS} tools.")
    return store.AgentAndTools(agent, taken)


def clone(workspace_id: str, source: store.AgentAndTools) -> Copy:
    """Stage a copy of an agent and its tools.

    All members are copied, secret ones too, but the agent key is new.
    """
    agent = store.require_found(source.agent)
    agent_id = ids.new_id()
    whole, *opened = open_all([agent, *source.tools])
    document = {name: value for name, value in whole.items() if name != _AGENT_KEY}
    owned = [_owned_by(agent_id, agent.agent_id, tool) for tool in opened]
    made = tools.create(workspace_id, agent_id, owned)
    copies = {tool.tool_id: copy.tool_id for tool, copy in zip(source.tools, made, strict=True)}
    document = with_references(document, lambda tool_id, path: copies.get(tool_id, tool_id))
    return Copy(*store.create(workspace_id, agent_id, document), made)


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
    rest: Iterable[tools.ToolRow], agent: store.AgentRow, taken: list[tools.ToolRow]
) -> Iterator[tools.ToolRow]:
    """Yield `rest`, until it exceeds a transaction together with what was taken. Raise TooLarge then."""
    size = sum(len(row.document) for row in (agent, *taken))
    for tool in rest:
        size += len(tool.document)
        if size > _MAX_TRANSACTION:
            raise errors.TooLarge(_TOO_LARGE)
        yield tool


def _translated(document: Document, name: str, path: str, translate: Callable[[str, str], str | None]) -> Document:
    if name not in document:
        return dict(document)
    found = (translate(one, f"{path}{name}.{number}") for number, one in enumerate(document[name]))
    return {**document, name: [one for one in found if one is not None]}


def _owned_by(agent_id: str, before: str, tool: Document) -> Document:
    """Return a tool whose fields refer to this agent instead of `before`."""
    if not tool.get("fields"):
        return tool
    own = {"agentId": agent_id}
    return {**tool, "fields": [{**one, **own} if one.get("agentId") == before else one for one in tool["fields"]]}
