"""Examples of every operation. A test runs them all, in the order of `_PAGES` (`tests/test_openapi.py`)."""

from chalicelib.openapi.examples import (
    agents,
    analytics,
    clients,
    conversations,
    deletions,
    erasures,
    leads,
    organisations,
    tools,
    webhooks,
    workspaces,
)
from chalicelib.openapi.examples.shared import Example

__all__ = ["EXAMPLES", "Example"]

# In execution order: later examples depend on the records of earlier ones.
_PAGES = (
    agents, tools, conversations, analytics, clients, organisations, leads, webhooks, workspaces, erasures, deletions,
)  # fmt: skip

# By view name. The constant has the name of the view in capitals.
EXAMPLES: dict[str, dict[str, Example]] = {
    name.lower(): value
    for page in _PAGES
    for name, value in vars(page).items()
    if name in page.__annotations__ and not name.startswith("_")
}
