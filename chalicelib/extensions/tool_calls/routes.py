"""The route that calls a tool's server."""

from typing import TYPE_CHECKING

from chalice.app import Blueprint, Response

from chalicelib import errors
from chalicelib.extensions.tool_calls import calls
from chalicelib.http import auth, bodies, privileges, responses
from chalicelib.http.lazy_module import LazyModule
from chalicelib.http.operation import Operation
from chalicelib.tools import store

if TYPE_CHECKING:
    from chalicelib.extensions.tool_calls import models
else:
    models = LazyModule("chalicelib.extensions.tool_calls.models")

routes = Blueprint(__name__)


@routes.route("/v3/tools/{tool_id}/test", methods=["POST"])
@Operation(
    body="models.ToolTestIn",
    max_bytes=1_000_000,
    data="models.ToolTest",
    raises=(errors.NotFound, calls.NotCallable),
    tag="tools",
)
def test_tool(tool_id: str) -> Response:
    """Call a tool's server with `arguments`, as an agent does, and return the request and the response.

    The call has a timeout of 10 seconds. Disabled tools are also called. If no response arrives, the result contains an
    `error`. If the tool has a secret, a token that cannot read secrets is rejected with 403, because it could send the
    secret to another URL. Nothing is stored, so each request calls the server, even if it repeats an `Idempotency-Key`.
    """
    body: models.ToolTestIn = bodies.read()
    tool = store.read(auth.caller().workspace_id, tool_id).open()
    if privileges.visible(tool, lambda: models.Tool) != tool:
        raise errors.Forbidden("A test of a tool with secrets requires a credential that may read secrets.")
    return responses.success("Tool called successfully", calls.call(tool, body.arguments))
