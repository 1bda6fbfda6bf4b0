"""The tool_calls extension: calls a tool's server as an agent does, to test the tool."""

from chalicelib.extensions import Extension

EXTENSION = Extension(name="tool_calls", routes=("routes:routes",))
