"""The openai extension: the OpenAI Conversations API."""

from chalicelib.extensions import Extension

_HOOKS = {"middleware": "routes:add_error", "error_members": "parameters:ERROR", "parameters": "parameters"}
EXTENSION = Extension(name="openai", routes=("routes:routes",), hooks=_HOOKS)
