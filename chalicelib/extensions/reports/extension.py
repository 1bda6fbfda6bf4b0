"""The declaration of the reports: counts per hour of what happens at agents, and the usage of a workspace per day."""

from chalicelib.extensions import Extension

QUEUE = "counts"
"""The queue of the reports' function. `queue` defines the messages; only senders and that function import it."""

EXTENSION = Extension(
    name="reports",
    routes=("routes:routes", "usage_routes:routes"),
    functions=("functions:functions",),
    follows={
        "conversations": "followers:CONVERSATIONS",
        "leads": "followers:LEADS",
        "analytics": "followers:ANALYTICS",
        "deliveries": "followers:DELIVERIES",
    },
    hooks={
        "agent_rows": "counts:list_changes",
        "parameters": "parameters",
        "recount": "counts:recount_all",
        "removal": "removal:delete_all",
    },
    services={"series": "api"},
)
