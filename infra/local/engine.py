"""The engine: DynamoDB, its streams, KMS, SES and SQS in one process on 127.0.0.1. Its writes survive `kill -9`.

    python -m infra.local.engine --state DIR [--port N]

When the engine is ready, it prints one line of JSON with its `port` and the credentials that requests need. The engine
runs with the interpreter in `.venv-engine`, without the application's packages. This module manages the life cycle
(check, lock, load, listen, stop); `data_file` stores the state, `emulator` adapts MiniStack, and `persistence` connects
the two.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import importlib
import json
import signal
import socket
from collections.abc import Awaitable, Callable, Coroutine, MutableMapping
from functools import partial
from pathlib import Path
from typing import Any

from infra.local import data_file, emulator, lifeline, state
from infra.local.credentials import Credentials, find_or_create
from infra.local.persistence import Persistence

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

# Seconds that an engine may need to stop.
_SECONDS_FOR_PREDECESSOR = 10.0


def main() -> None:
    """Load the state and serve until a signal stops the process."""
    arguments = _arguments()
    if message := emulator.wrong_version():
        raise SystemExit(message)
    lock = state.lock(arguments.state, "engine.lock", _SECONDS_FOR_PREDECESSOR)
    if lock is None:
        raise SystemExit(f"Another engine uses {arguments.state}.")
    if arguments.until_stdin_closes:
        lifeline.end_with_parent()
    listener = socket.create_server(("127.0.0.1", arguments.port))
    application = emulator.load(arguments.state)
    try:
        data = data_file.DataFile(arguments.state / data_file.NAME)
        persistence = emulator.persist(data)
    except data_file.DataFileError as error:
        raise SystemExit(f"The engine cannot start: {error}") from None
    credentials = find_or_create(arguments.state)
    ready = {"port": listener.getsockname()[1], **credentials._asdict()}
    # The listener already accepts connections, which are served when the application has started.
    print(json.dumps(ready), flush=True)
    guarded = _guard(application, credentials)
    asyncio.run(_serve(guarded, listener, partial(_expire, persistence, arguments)))
    _forget(persistence, arguments.state)
    data.close()
    lock.close()


async def _serve(
    application: Application, listener: socket.socket, expire: Callable[[], Coroutine[Any, Any, None]]
) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    config = importlib.import_module("hypercorn.config").Config()
    config.bind = [f"fd://{listener.fileno()}"]
    config.loglevel = "WARNING"
    config.keep_alive_timeout = 75
    config.graceful_timeout = 1
    expiry = asyncio.create_task(expire())
    serve = importlib.import_module("hypercorn.asyncio").serve
    await serve(application, config, shutdown_trigger=stop.wait, mode="asgi")
    expiry.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await expiry


def _guard(application: Application, credentials: Credentials) -> Application:
    """Reject requests without the credentials, and administrative requests, because their changes would be lost."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan" or (scope["type"] == "http" and _is_allowed(scope, credentials)):
            await application(scope, receive, send)
        elif scope["type"] == "http":
            await send({"type": "http.response.start", "status": 403, "headers": _REFUSAL_HEADERS})
            await send({"type": "http.response.body", "body": _REFUSAL})
        else:
            await send({"type": "websocket.close"})

    return answer


_REFUSAL_HEADERS = [(b"content-type", b"application/x-amz-json-1.0")]
_REFUSAL = json.dumps(
    {
        "__type": "UnrecognizedClientException",
        "message": "The local engine accepts only requests with the credentials from its `environment`.",
    }
).encode()


def _is_allowed(scope: Scope, credentials: Credentials) -> bool:
    is_administration = scope["path"].startswith("/_") and scope["method"] != "GET"
    authorization = dict(scope["headers"]).get(b"authorization", b"").decode("latin-1")
    return not is_administration and credentials.are_in(authorization)


async def _expire(persistence: Persistence, arguments: argparse.Namespace) -> None:
    while True:
        await asyncio.sleep(arguments.expire_every)
        emulator.expire()
        persistence.save("expire")
        _forget(persistence, arguments.state)


def _forget(persistence: Persistence, directory: Path) -> None:
    """Drop the stream records that the worker's functions have processed."""
    try:
        positions = json.loads((directory / "positions.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        positions = {}
    persistence.forget(positions)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--state", type=Path, required=True, help="directory that contains the data file")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 for any free port")
    parser.add_argument("--expire-every", type=float, default=60.0, help="seconds between deletions of expired items")
    parser.add_argument("--until-stdin-closes", action="store_true", help="stop when the parent process dies")
    return parser.parse_args()


if __name__ == "__main__":
    main()
