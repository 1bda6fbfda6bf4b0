"""Run `chalice local` in this process, with patches for settings that Chalice does not offer.

The stage `local` has no environment variables in `.chalice/config.json`, so the process environment applies.
"""

from __future__ import annotations

import logging
import sys
from pathlib import Path

from chalice.cli import main as chalice
from chalice.local import ChaliceRequestHandler, LocalDevServer, ThreadedHTTPServer

from infra.local import lifeline, request_log
from infra.local.children import ROOT


def main(port: str, log: str) -> None:
    """Serve on this port of 127.0.0.1 until a signal stops the process; append request lines to a file."""
    lifeline.end_with_parent()
    # The server sends headers and body in two packets. With Nagle's algorithm, the body would wait for the client's
    # delayed acknowledgement, which adds 40 ms to each response on a keep-alive connection.
    ChaliceRequestHandler.disable_nagle_algorithm = True
    request_log.hide_values()
    # Chalice does not handle these methods, so the standard library would respond with 501 and an HTML page.
    ChaliceRequestHandler.do_TRACE = ChaliceRequestHandler.do_QUERY = ChaliceRequestHandler.do_GET
    # The default backlog is five connections. Clients that exceed it retry after a second.
    ThreadedHTTPServer.request_queue_size = 128
    # The run prints the address when everything is ready; Chalice would also print it, but earlier.
    LocalDevServer.serve_forever = _serve_forever  # type: ignore[method-assign,assignment]
    # Telemetry lines are written to a file for `infra.cams usage`, because Chalice already prints each request.
    sys.stdout = request_log.SplitOutput(sys.stdout, Path(log))
    # Chalice sets the root logger to INFO. At that level, botocore and pynamodb log the sources of their settings.
    for name in ("botocore", "pynamodb"):
        logging.getLogger(name).setLevel(logging.WARNING)
    options = ["--host", "127.0.0.1", "--port", port, "--stage", "local", "--no-autoreload"]
    sys.argv = ["chalice", "--project-dir", str(ROOT), "local", *options]
    sys.exit(chalice())


def _serve_forever(server: LocalDevServer) -> None:
    server.server.serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
