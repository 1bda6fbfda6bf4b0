"""Changes of an agent through v3."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.api import Api


@pytest.fixture
def v3(api: Api, agent_id: str) -> Callable[[dict[str, Any]], Any]:
    """Return a function that changes the agent through v3 and returns the record in the response."""
    return lambda change: api.patch(f"/v3/agents/{agent_id}", {"agent": change}).data
