"""The history extension: an audit log, and the versions of agents and tools."""

from chalicelib.extensions import Extension

TABLES = ("agents", "clients", "organisations", "webhooks", "credentials")
"""The tables whose changes the history keeps."""

EXTENSION = Extension(
    name="history",
    routes=("routes:routes",),
    follows=dict.fromkeys(TABLES, "followers:FOLLOWER"),
    hooks={
        "cascade_deletions": "rows:cascade_deletions",
        "erasable": "erasable",
        "parameters": "parameters",
        "removal": "removal:delete_all",
        "stage_deletion": "rows:stage_deletion",
    },
    services={
        "members_that_differ": "versions:members_that_differ",
        "restored_members": "versions:restored_members",
        "stage_act": "rows:stage_act",
        "versions": "versions:read_newest",
    },
    workspace_key_prefixes=("/v3/history",),
)
