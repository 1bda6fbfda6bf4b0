"""CAMS: the conversational agent management service. `app.py` composes these packages."""

# The version of the service and of its OpenAPI document, the newest version in CHANGELOG.md. Paths contain the versions
# of the interface.
__version__ = "1.0.0"
