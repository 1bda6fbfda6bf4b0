"""The declaration of the console: pages for people, and emails about conversations waiting for a person."""

from chalicelib.extensions import Extension

QUEUE = "notifications"
"""The queue of the console's function. `queue` defines the messages; only senders and that function import it."""

EXTENSION = Extension(
    name="console",
    routes=("routes:routes",),
    functions=("functions:functions",),
    follows={"conversations": "followers:FOLLOWER"},
    hooks={"middleware": "routes:show_errors", "removal": "removal:delete_all"},
    open_prefixes=("/console",),
    storable_routes=("/console/assets/{name}",),
)
