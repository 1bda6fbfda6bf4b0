"""What the reports add to core."""

from chalicelib.extensions import Extension

EXTENSION = Extension(
    name="reports",
    routes=("routes:routes", "usage_routes:routes"),
    functions=("functions:functions",),
    follows={
        "conversations": "followers:CONVERSATIONS",
        "leads": "followers:LEADS",
        "analytics": "followers:LOADS",
        "deliveries": "followers:DELIVERIES",
    },
    hooks={
        "agent_rows": "counts:list_changes",
        "recount": "counts:recount_all",
        "removal": "counts:delete_rows_of_no_agent",
        "parameters": "parameters",
    },
    services={"series": "api"},
)
