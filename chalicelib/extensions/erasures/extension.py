"""The erasures extension: deletes a person's records in a workspace, and signs a receipt."""

from chalicelib.extensions import Extension

QUEUE = "erasures"
"""The erasure function's queue. Only the senders and the function import the module `queue`."""

EXTENSION = Extension(
    name="erasures",
    routes=("routes:routes",),
    functions=("functions:functions",),
    hooks={"parameters": "parameters", "removal": "removal:delete_all"},
    workspace_key_prefixes=("/v3/erasures",),
)
