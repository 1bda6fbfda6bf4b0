"""The agent that holds the conversations of these tests."""

import pytest


@pytest.fixture(autouse=True)
def agent(agent_id: str) -> None:
    """Create the agent `support` for every test in this folder."""
