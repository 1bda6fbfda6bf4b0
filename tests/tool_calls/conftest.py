"""A tool of an agent, and the setting of a deployment: no private addresses."""

from typing import Any

import pytest

from tests.api import Api
from tests.tool_calls.timed_calls import Create


@pytest.fixture(autouse=True)
def only_public(public_only: None, empty_cache: None) -> None:
    """The setting of a deployment, and no cached answer of DNS, for every test of this folder."""


@pytest.fixture
def create(api: Api, agent_id: str) -> Create:
    """Create a tool of the agent; return the path of its test."""

    def create(**members: Any) -> str:
        made = api.post(f"/v3/agents/{agent_id}/tools", {"tool": {"name": "Look up", **members}})
        return f"/v3/tools/{made.data['id']}/test"

    return create
