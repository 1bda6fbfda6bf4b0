"""A workspace's existing credentials, and the commands for each kind of credential."""

from chalicelib.credentials import store as credentials
from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.operator_commands.commands import EDGE, run_json, status_of


def _credential_id(workspace: NewWorkspace, kind: str) -> str:
    (row,) = credentials.list_active(workspace.workspace_id, kind)
    return row.credential_id


class Credential:
    """An existing credential: its noun in commands, its id, its token, and a path that the token can read."""

    def __init__(self, noun: str, workspace: NewWorkspace) -> None:
        self.noun = noun
        self.workspace = ["--workspace", workspace.workspace_id]
        if noun == "agent-key":
            self.id, self.path, self.secret = "support", EDGE, "agent_key"
            answer = Api(workspace.workspace_key).post(EDGE, {"title": "Support"})
            self.token: str = answer.data["SECRET_API_KEY"]
        elif noun == "key":
            self.id, self.path, self.secret = _credential_id(workspace, "workspace"), "/v3/agents", "workspace_key"
            self.token = workspace.workspace_key
        else:
            self.id, self.path, self.secret = _credential_id(workspace, "access"), "/v3/agents", "access_token"
            self.token = workspace.access_token

    def rotate(self, *options: str) -> str:
        """Rotate the credential; return the new token."""
        new: str = run_json(self.noun, "rotate", self.id, *self.workspace, *options)[self.secret]
        return new

    def statuses(self, *of: str) -> list[int]:
        """Return the request status for each of these tokens."""
        return [status_of(token, self.path) for token in of]
