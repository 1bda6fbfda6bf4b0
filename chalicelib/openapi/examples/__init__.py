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
from chalicelib.openapi.examples.shared import Example

__all__ = ["EXAMPLES", "Example"]

# In the order in which they build on one another. The declaration of an endpoint names its constant.
_PAGES = (agents, tools, conversations, analytics, clients, organisations, leads, webhooks, workspaces, deletions)

# By the name of the view, which the constant has in capitals.
EXAMPLES: dict[str, dict[str, Example]] = {
    name.lower(): value
    for page in _PAGES
    for name, value in vars(page).items()
    if name in page.__annotations__ and not name.startswith("_")
}
