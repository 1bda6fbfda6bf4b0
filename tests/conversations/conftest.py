"""The agent of the conversations."""

import pytest


@pytest.fixture(autouse=True)
def agent(agent_id: str) -> None:
    """The agent `support`, for every test of this folder."""
