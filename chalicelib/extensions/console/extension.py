"""What the console adds to core: pages for people, and mails about conversations that wait for a person."""

from chalicelib.extensions import Extension

EXTENSION = Extension(
    name="console",
    routes=("routes:routes",),
    functions=("notifications.functions:functions",),
    follows={"conversations": "notifications.handoff_notices:FOLLOWER"},
    hooks={"middleware": "routes:show_errors", "removal": "notifications.removal:delete_all"},
    open_prefixes=("/console",),
    storable_routes=("/console/assets/{name}",),
)
