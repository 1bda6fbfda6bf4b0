"""The adapters extension: operations with which an agent framework stores its sessions as conversations."""

from chalicelib.extensions import Extension

EXTENSION = Extension(name="adapters", routes=("routes:routes",))
