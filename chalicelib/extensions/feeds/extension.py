"""The feeds extension: pull endpoints, which are webhook endpoints whose events a consumer reads."""

from chalicelib.extensions import Extension

QUEUE = "feeds"
"""The queue of events for feeds. Fan-out sends to it, as the service `pull_queue`."""

EXTENSION = Extension(
    name="feeds",
    routes=("routes:routes",),
    functions=("functions:functions",),
    hooks={"parameters": "parameters", "removal": "removal:delete_all"},
    services={"pull_queue": "extension:QUEUE"},
)
