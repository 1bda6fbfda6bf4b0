"""The declaration of the erasures: the removal of a person from all records of a workspace, with a signed receipt."""

from chalicelib.extensions import Extension

QUEUE = "erasures"
"""The queue of the erasures' function. `queue` defines the messages; only senders and that function import it."""

EXTENSION = Extension(
    name="erasures",
    routes=("routes:routes",),
    functions=("functions:functions",),
    hooks={"parameters": "parameters", "removal": "removal:delete_all"},
    workspace_key_prefixes=("/v3/erasures",),
)
