"""Fixtures for tool calls: an agent's tool, and a deployment's default of blocking private addresses."""

from typing import Any

import pytest

from tests.api import Api
from tests.extensions.tool_calls.timed_calls import Create


@pytest.fixture(autouse=True)
def only_public(public_only: None, empty_cache: None) -> None:
    """Block private addresses, as in a deployment, and empty the DNS cache for every test in this folder."""


@pytest.fixture
def create(api: Api, agent_id: str) -> Create:
    """Create one of the agent's tools; return the path of the operation that tests the tool."""

    def create(**members: Any) -> str:
        made = api.post(f"/v3/agents/{agent_id}/tools", {"tool": {"name": "Look up", **members}})
        return f"/v3/tools/{made.data['id']}/test"

    return create
