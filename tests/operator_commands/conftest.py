"""Fixtures for tests of the operator commands."""

import pytest

from chalicelib.workspaces.store import NewWorkspace
from tests.operator_commands.existing import Credential


@pytest.fixture(params=["key", "token", "agent-key"])
def credential(request: pytest.FixtureRequest, workspace: NewWorkspace) -> Credential:
    """Provide one credential of each kind that can be rotated and revoked."""
    return Credential(request.param, workspace)
