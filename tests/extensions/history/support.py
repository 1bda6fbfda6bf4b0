"""The history in the core tests: an agent and a tool with an earlier version."""

from collections.abc import Mapping
from typing import Any

from chalicelib import clock, storage
from chalicelib.extensions.history import coverage, rows
from chalicelib.extensions.history.extension import TABLES
from chalicelib.storage import Document
from chalicelib.workspaces import store as workspaces
from tests.api import Api
from tests.builders import webhook_body
from tests.openapi.examples import NOW
from tests.webhooks import pipeline

NUMBER = "1795000000000"
"""The version number that `populate` stores for each record."""
_NEVER = 4_000_000_000

CHOSEN = {"number": NUMBER}
# How often the examples change a record before they read its version. The changes are one millisecond apart.
_CHANGES = {"agents": 2, "tools": 1}
PATH_VALUES = {"number": lambda path: NOW * 1000 + _CHANGES[path.split("/")[2]]}
_RESTORE = "POST /v3/{}/versions/{{number}}/restore"
TESTED_PARAMETERS = ("resource", "by", "keep")
TESTED_SAVES = [_RESTORE.format(record) for record in ("agents/{agent_id}", "tools/{tool_id}")]
_AGENT = {"agent_id": "other", "number": "{agent_version}"}
_TOOL = {"tool_id": "{kept_tool}", "number": "{tool_version}"}
_AGENT_VERSIONS, _TOOL_VERSIONS = "/v3/agents/{agent_id}/versions", "/v3/tools/{tool_id}/versions"
COSTS: list[tuple[Any, ...]] = [
    ("history of an agent", "GET /v3/history", {"Query": 1}, None, "?resource=agents/other"),
    ("history", "GET /v3/history", {"Query": 1}),
    ("version list", f"GET {_AGENT_VERSIONS}", {"Query": 1}, None, "", _AGENT),
    ("version read", f"GET {_AGENT_VERSIONS}/{{number}}", {"Query": 1}, None, "", _AGENT),
    ("version restore", f"POST {_AGENT_VERSIONS}/{{number}}/restore", {"Query": 2, "PutItem": 1}, None, "", _AGENT),
    ("version list of a tool", f"GET {_TOOL_VERSIONS}", {"Query": 1}, None, "", _TOOL),
    ("version read of a tool", f"GET {_TOOL_VERSIONS}/{{number}}", {"Query": 1}, None, "", _TOOL),
    (
        "version restore of a tool",
        f"POST {_TOOL_VERSIONS}/{{number}}/restore",
        {"GetItem": 1, "Query": 1, "PutItem": 1},
        None,
        "",
        _TOOL,
    ),
]


def cost_values(api: Api) -> dict[str, str]:
    """Change an agent and a tool; return the tool's id and the version number of each first version."""
    stream, tools = pipeline.Stream(), "/v3/agents/busy/tools"
    tool_id = api.post(tools, {"tool": {"name": "Kept"}}).data["id"]
    for title in ("Kept", "Changed"):
        api.patch("/v3/agents/other", {"agent": {"title": title}})
    api.patch(f"/v3/tools/{tool_id}", {"tool": {"name": "Changed"}})
    pipeline.follow(stream.read("agents"))
    agent, tool = (
        api.get(f"/v3/{record}/versions").data[-1]["number"] for record in ("agents/other", f"tools/{tool_id}")
    )
    return {"kept_tool": tool_id, "agent_version": str(agent), "tool_version": str(tool)}


def populate(workspace_id: str, ids: Mapping[str, str], mark: str) -> None:
    """Store an earlier version of the agent and the tool with these ids."""
    agent = {
        "createdAtUNIX": NOW,
        "lastModified": NOW,
        "title": f"{mark} before",
        "description": mark,
        "chatappToken": f"{mark} secret",
    }
    tool = {
        "createdAt": clock.iso(NOW),
        "updatedAt": clock.iso(NOW),
        "agentId": mark,
        "userId": workspace_id,
        "name": f"{mark} before",
        "method": "GET",
        "serverUrlSecret": f"{mark} secret",
    }
    for resource, variable, document in (("agents", "agent_id", agent), ("tools", "tool_id", tool)):
        if variable in ids:
            _keep_version(workspace_id, resource, ids[variable], document)


def clear_caches() -> None:
    """Clear the cached start time of the history."""
    coverage.clear_cache()


def run_functions() -> None:
    """Record a change to each kind of resource, and an agent version that is older than the history."""
    storage.delete_many([coverage.CoverageRow(coverage.KEY, coverage.KEY)])
    new, stream = workspaces.create("Kept"), pipeline.Stream()
    api = Api(new.workspace_key)
    assert api.post("/v2/agents/support", {"title": "Before"}).status == 200
    stream.read("agents")
    for path, body in (
        ("/v2/agents/support", {"title": "Support"}),
        ("/v2/clients/ann", {"name": "Ann"}),
        ("/v2/orgs/acme", {"name": "Acme"}),
        ("/v3/webhooks", webhook_body("https://example.com/")),
        ("/v3/tokens", {"token": {"name": "CI"}}),
    ):
        assert api.post(path, body).status == 200
    pipeline.follow(stream.read(*TABLES))


def _keep_version(workspace_id: str, resource: str, record_id: str, document: Document) -> None:
    entry = {"operation": rows.UPDATE, "changed": ["title"]}
    row = rows.new(workspace_id, resource, record_id, rows.change_at(int(NUMBER), record_id), entry)
    row.expires_at = clock.to_datetime(_NEVER)
    version = rows.version_of(row)
    version.seal(document)
    storage.save_many([row, version])
