"""Changes of an agent through v3."""

from collections.abc import Callable
from typing import Any

import pytest

from tests.api import Api


@pytest.fixture
def v3(api: Api, agent_id: str) -> Callable[[dict[str, Any]], Any]:
    """Change the agent through v3; return the answered record."""
    return lambda change: api.patch(f"/v3/agents/{agent_id}", {"agent": change}).data
