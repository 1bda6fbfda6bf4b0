"""Rules for agent clones and templates. Each template is imported without changes."""

from typing import Any

from chalicelib import clock
from tests.reliability.model.agent_rules import AgentRules
from tests.reliability.model.answers import MADE, Document, Expected, Record, success
from tests.reliability.model.machine import Workspace, picks, route

_SERVICE_SET = ("SECRET_API_KEY", "createdAtUNIX", "lastModified")
_TOOL_SET = ("agentId", "userId", "createdAt", "updatedAt")
_SECRET, _FIELD_SECRET = "vectorDb", "value"


class CopyRules(AgentRules):
    """Rules for agent clones and templates."""

    @route("POST /v3/agents/{agent_id}/clone", pick=picks)
    def clone(self, at: int, caller: str, pick: int) -> None:
        agent_id = self.agent(at, pick)

        def copied(workspace: Workspace) -> tuple[Document, list[Document]]:
            document = _without(workspace.get("agent", agent_id).document, *_SERVICE_SET)
            return document, [_without(tool, "id", *_TOOL_SET) for tool in self.tools_of(workspace, agent_id)]

        self._create("POST /v3/agents/{agent_id}/clone", at, caller, "cloned", copied, None, agent_id=agent_id)

    @route("POST /v3/agents/import-template", pick=picks, to=picks)
    def move(self, at: int, caller: str, pick: int, to: int) -> None:
        agent_id, template = self.agent(at, pick), dict[str, Any]()

        def expected(workspace: Workspace) -> Expected:
            document = _without(workspace.get("agent", agent_id).document, _SECRET, *_SERVICE_SET)
            tools = [_portable(tool) for tool in self.tools_of(workspace, agent_id)]
            top = {"name": "title", "description": "description", "nodes": "nodes"}
            template.update({name: document.pop(member, "") for name, member in top.items()})
            template.update(nodes=template["nodes"] or [], tools=tools, variables=[], agentData=document)
            template.update(workspaceId=workspace.id)
            return Expected(success("Template retrieved successfully", None, agentTemplate=template))

        name = "GET /v3/agents/{agent_id}/export-template"
        if self.ask(name, at, caller, expected, agent_id=agent_id).status == 200:
            new = [_with_field_ids(tool) for tool in template["tools"]]
            members = {"title": template["name"], "description": template["description"], "nodes": template["nodes"]}
            document = template["agentData"] | {name: one for name, one in members.items() if one}
            name, sent = "POST /v3/agents/import-template", {"agentTemplate": template}
            self._create(name, to, caller, "imported", lambda _: (document, new), sent)

    def _create(self, name: str, at: int, caller: str, done: str, copied: Any, body: Any, **ids: str) -> None:
        """Create an agent that has the members and tools that `copied` returns."""
        record = Record({})

        def expected(workspace: Workspace) -> Expected:
            document, tools = copied(workspace)
            now = clock.iso(self.seconds())
            record.document = self.new_agent(document)
            own = {"id": MADE, "agentId": MADE, "userId": workspace.id, "createdAt": now, "updatedAt": now}
            ids = {"ID": MADE, "id": MADE, "ownerID": workspace.id}
            shown = {**ids, **record.document, "tools": [{**tool, **own} for tool in tools]}
            lasting = self.lasting(at, caller, "agent.SECRET_API_KEY")
            return Expected(success(f"Agent {done} successfully", shown, **lasting), record)

        answer = self.ask(name, at, caller, expected, body, None, None, "", **ids)
        if answer.status == 200:
            for tool in answer.data["tools"]:
                self.workspace(at).of("tool")[tool["id"]] = Record(_without(tool, "id"))
            self.add_agent(at, answer.data["id"], record, answer.data["SECRET_API_KEY"])


def _portable(tool: Document) -> Document:
    shown = _without(tool, "id", *_TOOL_SET)
    if "fields" in shown:
        shown["fields"] = [_without(field, "id", _FIELD_SECRET) for field in shown["fields"]]
    return shown


def _with_field_ids(tool: Document) -> Document:
    if "fields" not in tool:
        return tool
    return {**tool, "fields": [{**field, "id": MADE} for field in tool["fields"]]}


def _without(document: Document, *names: str) -> Document:
    return {name: value for name, value in document.items() if name not in names}
