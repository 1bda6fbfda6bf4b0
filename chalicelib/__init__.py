"""CAMS: the conversational agent management service. `app.py` composes these packages."""

# The service and OpenAPI document version: the newest in CHANGELOG.md. It is independent of the versions
# in paths, such as v2.
__version__ = "1.0.0"
