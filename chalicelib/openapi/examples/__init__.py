"""Examples of every operation. All of them run as tests, in the order of this page (`tests/test_openapi.py`)."""

from chalicelib.openapi.examples import (
    agents,
    analytics,
    clients,
    conversations,
    deletions,
    leads,
    organisations,
    tools,
    webhooks,
    workspaces,
)
from chalicelib.openapi.examples.shared import Example, Examples

__all__ = ["EXAMPLES", "Example"]

# In the order in which they make sense after one another.
EXAMPLES: Examples = {
    **agents.EXAMPLES,
    **tools.EXAMPLES,
    **conversations.EXAMPLES,
    **analytics.EXAMPLES,
    **clients.EXAMPLES,
    **organisations.EXAMPLES,
    **leads.EXAMPLES,
    **webhooks.EXAMPLES,
    **workspaces.EXAMPLES,
    **deletions.EXAMPLES,
}
