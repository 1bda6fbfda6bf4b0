"""The console extension: pages for people, and emails to them."""

from chalicelib.extensions import Extension

QUEUE = "notifications"
"""The notification function's queue. Only the senders and the function import the module `queue`."""

EXTENSION = Extension(
    name="console",
    routes=("routes:routes",),
    functions=("functions:functions",),
    follows={"conversations": "followers:FOLLOWER"},
    hooks={"middleware": "routes:show_pages", "removal": "removal:delete_all"},
    open_prefixes=("/console",),
    storable_routes=("/console/assets/{name}", "/console/{workspace}/photos/{client_id}"),
)
