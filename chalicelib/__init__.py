"""CAMS: the conversational agent management service. `app.py` composes what lives here."""

# The version of the service and of its OpenAPI document: the newest one of CHANGELOG.md. The interface's own versions
# are in its paths.
__version__ = "1.0.0"
