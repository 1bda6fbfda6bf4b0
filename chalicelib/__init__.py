"""CAMS: the conversational agent management service. `app.py` composes these packages."""

from contextlib import suppress
from importlib import import_module

# The version of the service and the OpenAPI document, as in CHANGELOG.md. It is independent of versions in paths (v2).
__version__ = "1.1.0"

with suppress(ImportError):  # only the package has this module; without it, `re` compiles the expressions as usual
    import_module("compiled_expressions")
