"""The agent that owns the conversations in these tests."""

import pytest


@pytest.fixture(autouse=True)
def agent(agent_id: str) -> None:
    """Create the agent `support` for every test in this folder."""
