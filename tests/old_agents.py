"""Agents that are older than a test's changes, because changes before an agent's creation are not counted."""

import pytest

from chalicelib import clock
from tests.api import Api

_CREATED = clock.start_of_day("2026-01-01")


def create_old_agent(api: Api, agent_id: str = "support") -> str:
    """Create an agent on the first day of 2026, and return its id."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clock, "milliseconds", lambda: _CREATED * 1000)
        assert api.post(f"/v2/agents/{agent_id}", {"title": "Support"}).status == 200
    return agent_id
