"""CAMS: the conversational agent management service. `app.py` composes these packages."""

# The version of the service and the OpenAPI document: the latest in CHANGELOG.md. It is independent of the versions in
# paths, such as v2.
__version__ = "1.0.0"
