"""The declaration of the erasures: they find a person in everything that a workspace stores, and remove them."""

from chalicelib.extensions import Extension

EXTENSION = Extension(
    name="erasures",
    routes=("routes:routes",),
    functions=("functions:functions",),
    hooks={"parameters": "parameters", "removal": "store:delete_all"},
    workspace_key_prefixes=("/v3/erasures",),
)
