"""Examples of every operation. A test runs them all, in the order of `_PAGES` (`tests/test_openapi.py`)."""

from chalicelib import extensions
from chalicelib.openapi.examples import (
    agent_copies,
    agents,
    analytics,
    clients,
    conversations,
    conversations_v3,
    deletions,
    erasures,
    leads,
    organisations,
    shared,
    tools,
    visitor_tokens,
    webhooks,
    workspaces,
)
from chalicelib.openapi.examples.shared import Example

__all__ = ["EXAMPLES", "GENERATED", "Example"]

# In execution order: later examples depend on the records of earlier ones.
_PAGES = (
    agents,
    tools,
    agent_copies,
    conversations,
    visitor_tokens,
    analytics,
    organisations,
    clients,
    conversations_v3,
    leads,
    webhooks,
    workspaces,
    erasures,
    *extensions.hooks("examples"),
    deletions,
)

# By view name. The constant has the name of the view in capitals.
EXAMPLES: dict[str, dict[str, Example]] = {
    name.lower(): value
    for page in _PAGES
    for name, value in vars(page).items()
    if name in page.__annotations__ and not name.startswith("_")
}

GENERATED = shared.GENERATED.union(*(getattr(page, "GENERATED", ()) for page in extensions.hooks("examples")))
"""The only values in which a real response may differ from its example."""
