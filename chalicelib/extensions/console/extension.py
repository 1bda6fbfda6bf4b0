"""The declaration of the console: pages for people, and mails about conversations that wait for a person."""

from chalicelib.extensions import Extension

QUEUE = "notifications"
"""The queue of its function. `queue` has the messages, which only that function and their senders load."""

EXTENSION = Extension(
    name="console",
    routes=("routes:routes",),
    functions=("functions:functions",),
    follows={"conversations": "followers:FOLLOWER"},
    hooks={"middleware": "routes:show_errors", "removal": "removal:delete_all"},
    open_prefixes=("/console",),
    storable_routes=("/console/assets/{name}",),
)
