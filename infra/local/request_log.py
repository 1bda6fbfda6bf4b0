"""Keep request values out of the output and the built-in responses of `chalice local`'s HTTP server.

By default, this server prints the path of each request, in which an id may be an email address, and the tracebacks of
failed requests. Its response for an unknown route echoes the Authorization header. `server` and `chalice_guard` call
`hide_values`.
"""

from __future__ import annotations

import sys
import traceback
from io import TextIOBase
from pathlib import Path
from socketserver import BaseServer
from typing import Any, TextIO

from chalice.local import ChaliceRequestHandler, LocalGatewayException, ThreadedHTTPServer

from chalicelib import errors
from infra.local import demonstration

_METRIC = '{"_aws":'
_MOST_BYTES = 100_000_000


def hide_values() -> None:
    """Replace methods of the server's classes in this process. The change also applies to a running server."""
    ChaliceRequestHandler._send_error_response = _answer_unknown_route  # type: ignore[method-assign,assignment]
    ChaliceRequestHandler.log_request = _log_route
    ChaliceRequestHandler.log_error = _log_no_message
    ThreadedHTTPServer.handle_error = _report


def _answer_unknown_route(handler: ChaliceRequestHandler, _: LocalGatewayException) -> None:
    """Respond with 404 in our envelope. Chalice's own response would echo the token in the Authorization header.

    As with the gateway (`gateway_responses`), any page may read the response.
    """
    error = errors.NotFound.of("route")
    headers = {"Content-Type": "application/json", "Access-Control-Allow-Origin": "*"}
    handler._send_http_response(error.STATUS_CODE, headers, str(error))


def _log_route(handler: ChaliceRequestHandler, code: int | str = "-", _: int | str = "-") -> None:
    """Print a request's route instead of its path, which may contain an email address. Omit the run's own requests."""
    headers = getattr(handler, "headers", None)  # a rejected request may have no path
    if headers and headers.get("User-Agent") == demonstration.USER_AGENT:
        return
    try:
        route = handler.local_gateway.event_converter._route_matcher.match_route(handler.path).route
    except (AttributeError, ValueError):  # a malformed request line, or no such route
        route = "(no route)"
    handler.log_message('"%s %s" %s', handler.command or "-", route, str(int(code)))


def _log_no_message(handler: ChaliceRequestHandler, *_: Any) -> None:
    """Suppress the server's message about a rejected request, which would echo the request."""


def _report(server: BaseServer, request: Any, address: Any) -> None:
    """Print where a request failed, without request values. Print nothing if the client has closed the connection."""
    error = sys.exc_info()[1]
    if isinstance(error, Exception) and not isinstance(error, ConnectionError):
        where = traceback.extract_tb(error.__traceback__)[-1]
        name = Path(where.filename).name
        sys.stderr.write(f"A request failed: {type(error).__name__} at {name}:{where.lineno}\n")


class SplitOutput(TextIOBase):
    """A standard output that appends request lines to a file that only its owner can read.

    A file larger than 100 MB is replaced with a new file.
    """

    def __init__(self, output: TextIO, path: Path) -> None:
        self._output = self._last = output
        path.touch(mode=0o600)
        self._file = path.open("w" if path.stat().st_size > _MOST_BYTES else "a", encoding="utf-8")

    def write(self, text: str) -> int:
        """Write telemetry lines to the file, and all other text to the output."""
        self._last = self._file if text.startswith(_METRIC) else self._output
        return self._last.write(text)

    def flush(self) -> None:
        """Flush only the stream of the last write, so that requests do not flush the terminal."""
        self._last.flush()
