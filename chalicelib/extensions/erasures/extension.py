"""The declaration of the erasures: the removal of a person from all records of a workspace, with a signed receipt."""

from chalicelib.extensions import Extension

QUEUE = "erasures"
"""The queue of its function. `queue` has the messages, which only that function and their senders load."""

EXTENSION = Extension(
    name="erasures",
    routes=("routes:routes",),
    functions=("functions:functions",),
    hooks={"parameters": "parameters", "removal": "removal:delete_all"},
    workspace_key_prefixes=("/v3/erasures",),
)
