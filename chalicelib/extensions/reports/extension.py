"""The reports extension: hourly counts of agents' activity, and workspaces' daily usage."""

from chalicelib.extensions import Extension

QUEUE = "counts"
"""The counting function's queue. Only the senders and the function import the module `queue`."""

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
        "agent_rows": "deleted_usage:list_changes",
        "parameters": "parameters",
        "recount": "counts:recount_all",
        "removal": "removal:delete_all",
    },
    services={"series": "api"},
)
