"""Records of two users."""

import pytest

from chalicelib.workspaces.store import NewWorkspace
from tests.api import Api
from tests.person_records import fill


@pytest.fixture
def filled(api: Api, agent_id: str, workspace: NewWorkspace) -> None:
    """Store a record of every kind for each of two users."""
    for user in ("zara", "yvette"):
        fill(api, workspace.workspace_id, user)
