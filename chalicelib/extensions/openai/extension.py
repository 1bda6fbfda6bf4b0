"""The openai extension: the OpenAI Conversations API."""

from chalicelib.extensions import Extension

EXTENSION = Extension(
    name="openai",
    routes=("routes:routes",),
    hooks={"middleware": "routes:add_error", "error_members": "parameters:ERROR", "parameters": "parameters"},
)
