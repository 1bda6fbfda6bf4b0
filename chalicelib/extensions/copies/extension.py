"""The copies extension: clones of agents, and templates that copy an agent to another workspace."""

from chalicelib.extensions import Extension

EXTENSION = Extension(name="copies", routes=("routes:routes",))
