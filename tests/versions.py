"""Kept versions for tests of all operations: an agent and a tool as they were before."""

from collections.abc import Mapping

from chalicelib import clock, storage
from chalicelib.storage import Document, history

NUMBER = "1795000000000"
"""The number of each version."""
_NEVER = 4_000_000_000


def keep_versions(workspace_id: str, ids: Mapping[str, str], mark: str) -> None:
    """Keep a version of the agent and the tool of these ids, with `mark` in a secret and in another member."""
    agent = {"title": f"{mark} before", "description": mark, "chatappToken": f"{mark} secret"}
    tool = {"name": f"{mark} before", "method": "GET", "serverUrlSecret": f"{mark} secret"}
    for resource, variable, document in (("agents", "agent_id", agent), ("tools", "tool_id", tool)):
        if variable in ids:
            _keep(workspace_id, resource, ids[variable], document)


def _keep(workspace_id: str, resource: str, record_id: str, document: Document) -> None:
    entry = {"operation": history.UPDATE, "changed": ["title"]}
    row = history.new(workspace_id, resource, record_id, history.change_at(int(NUMBER), record_id), entry)
    row.expires_at = clock.to_datetime(_NEVER)
    version = history.version_of(row)
    version.seal(document)
    storage.save_many([row, version])
