"""Wire models for tool calls. The specification does not define them."""

from chalicelib.http.wire import OpenObject, OptionalText, Texts, WireModel, omitted
from chalicelib.tools.models import Tool as Tool


class ToolTestIn(WireModel):
    """The body of POST /v3/tools/{tool_id}/test: the arguments of the call, by name."""

    arguments: OpenObject


class ToolRequest(WireModel):
    """The request that was sent to a tool's server. `headers` omits `Host`, body and connection headers."""

    method: str
    url: str
    headers: Texts
    body: str = omitted()


class ToolResponse(WireModel):
    """The response from a tool's server. Header names are in lower case.

    `body` contains the first 64 KB of the response body, as text if it is UTF-8, and otherwise in Base64.
    """

    status: int
    headers: Texts
    body: str
    isBase64: bool
    isTruncated: bool


class ToolTest(WireModel):
    """A call to a tool's server, with secrets masked as `***`. `error` is the reason for an incomplete response."""

    request: ToolRequest
    response: ToolResponse = omitted()
    durationMs: int
    error: OptionalText
