"""A fixture that changes an agent through the v3 API."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.api import Api


@pytest.fixture
def v3(api: Api, agent_id: str) -> Callable[[dict[str, Any]], Any]:
    """Return a function that changes the agent through the v3 API and returns the record from the response."""
    return lambda change: api.patch(f"/v3/agents/{agent_id}", {"agent": change}).data
