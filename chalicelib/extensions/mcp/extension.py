"""The mcp extension: the route `/mcp`, which authenticates requests in the same way as the v3 operations.

The route is in this module, because a module `routes` would double what the extension adds to other requests' cold
start. All other modules are imported by the first request to the route.
"""

from chalice.app import Blueprint, Response

from chalicelib.extensions import Extension

EXTENSION = Extension(name="mcp", routes=("extension:routes",), open_prefixes=("/mcp",))

routes = Blueprint(__name__)


@routes.route("/mcp", methods=["POST", "GET", "DELETE"])
def answer_message() -> Response:
    """Answer a JSON-RPC message (`server`)."""
    response: Response = EXTENSION.load("server:answer")(routes.current_app.routes)
    return response
