"""CAMS: the conversational agent management service. `app.py` composes these packages."""

# The version of the service and of its OpenAPI document: the newest in CHANGELOG.md. It is independent of the versions
# in paths, such as v2.
__version__ = "1.0.0"
