"""The engine: DynamoDB, its streams, KMS and SQS in one process bound to 127.0.0.1, whose writes survive
`kill -9`.

Runs under the interpreter of `.venv-engine` and imports nothing that needs the application's packages.
Responsible for the order of things (check, lock, restore, listen, stop); the file is `journal`'s, MiniStack
is `emulator`'s.

    python -m infra.local.engine --state DIR [--port N]

prints one line of JSON on standard output, `{"port": ..., "records": ..., "seconds": ...}`, when it is ready.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import fcntl
import importlib
import json
import os
import signal
import socket
import sys
import time
from collections.abc import Awaitable, Callable, MutableMapping
from pathlib import Path
from typing import Any

from infra.local import emulator, journal, lifeline

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_FORMAT = 1
_SECONDS_FOR_PREDECESSOR = 10.0
# Below this the file is left as it is: reading a few thousand records again costs less than writing the state
# anew.
_SMALLEST_TAIL_WORTH_COMPACTING = 1 << 20


class Journal:
    """The open journal: how much of it is state and how much is the tail of calls since."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.head = self.end = self.records = 0
        if path.exists():
            self._restore()
        if self.head == 0:
            self._begin_anew("")
        self.descriptor = journal.open_for_append(path, self.end)

    def write(self, record: journal.Record) -> None:
        """Hands a record to the operating system; when that fails, the process ends."""
        try:
            self.end += journal.append(self.descriptor, record)
        except OSError as error:
            # The change is in memory and not in the file: an answer would be a promise that nothing keeps.
            print(f"The engine stops: a write could not be recorded ({error}).", file=sys.stderr, flush=True)
            os._exit(1)

    def compact(self) -> None:
        """Replaces state and tail by the state that they add up to, once the tail outweighs it."""
        if self.end - self.head <= max(self.head, _SMALLEST_TAIL_WORTH_COMPACTING):
            return
        os.close(self.descriptor)
        self._begin_anew(emulator.snapshot())
        self.descriptor = journal.open_for_append(self.path, self.end)

    def _restore(self) -> None:
        for record, end in journal.read_records(self.path):
            if self.head == 0:
                if (record.get("format"), record.get("engine")) != (_FORMAT, emulator.VERSION):
                    raise SystemExit(
                        f"{self.path} was written by another version of the engine; "
                        "move it away to start with empty tables."
                    )
                if record["state"]:
                    emulator.restore(record["state"])
                self.head = end
            else:
                emulator.repeat(record)
                self.records += 1
            self.end = end

    def _begin_anew(self, state: str) -> None:
        header = {"format": _FORMAT, "engine": emulator.VERSION, "state": state}
        self.head = self.end = journal.replace(self.path, [header])


def main() -> None:
    """Restores the state, serves until it is told to stop."""
    arguments = _arguments()
    if sentence := emulator.wrong_version():
        raise SystemExit(sentence)
    arguments.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = _lock(arguments.state / "engine.lock")
    if arguments.until_stdin_closes:
        lifeline.end_with_parent()
    listener = socket.create_server(("127.0.0.1", arguments.port))
    started = time.monotonic()
    application = emulator.load()
    try:
        opened = Journal(arguments.state / "engine.journal")
    except (journal.JournalError, emulator.RepeatError) as error:
        raise SystemExit(f"The engine does not start: {error}") from None
    opened.compact()
    emulator.record_to(opened.write)
    ready = {
        "port": listener.getsockname()[1],
        "records": opened.records,
        "seconds": round(time.monotonic() - started, 2),
    }
    asyncio.run(_serve(application, listener, opened, ready, arguments.expire_every))
    opened.compact()
    os.close(opened.descriptor)
    lock.close()


async def _serve(
    application: Application,
    listener: socket.socket,
    opened: Journal,
    ready: dict[str, float],
    expire_every: float,
) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    config = importlib.import_module("hypercorn.config").Config()
    config.bind = [f"fd://{listener.fileno()}"]
    config.loglevel = "WARNING"
    config.keep_alive_timeout = 75
    config.graceful_timeout = 1
    expiry = asyncio.create_task(_expire(opened, expire_every))
    serve = importlib.import_module("hypercorn.asyncio").serve
    await serve(_guarded(application, ready), config, shutdown_trigger=stop.wait, mode="asgi")
    expiry.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await expiry


def _guarded(application: Application, ready: dict[str, float]) -> Application:
    """The application without what would change state behind the journal's back, and closed to web pages."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await application(scope, receive, _announcing(send, ready))
        elif scope["type"] == "http" and _refused(scope):
            await send({"type": "http.response.start", "status": 403, "headers": []})
            await send({"type": "http.response.body", "body": b"The local engine does not offer this.\n"})
        else:
            await application(scope, receive, send)

    return answer


def _refused(scope: Scope) -> bool:
    administration = scope["path"].startswith("/_") and scope["method"] != "GET"
    # Any page that a browser on this machine shows could otherwise read the tables: MiniStack allows every
    # origin.
    return administration or any(name == b"origin" for name, _ in scope["headers"])


def _announcing(send: Send, ready: dict[str, float]) -> Send:
    async def send_and_announce(message: Any) -> None:
        await send(message)
        if message["type"] == "lifespan.startup.complete":
            print(json.dumps(ready), flush=True)

    return send_and_announce


async def _expire(opened: Journal, every: float) -> None:
    while True:
        await asyncio.sleep(every)
        emulator.expire(opened.write)


def _lock(path: Path) -> Any:
    """Held as long as the process lives; waits a moment for a predecessor that is still on its way out."""
    file = path.open("a")
    deadline = time.monotonic() + _SECONDS_FOR_PREDECESSOR
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise SystemExit(f"Another engine works on {path.parent}.") from None
            time.sleep(0.05)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--state", type=Path, required=True, help="directory of the journal")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 takes any free one")
    parser.add_argument("--expire-every", type=float, default=60.0, help="seconds between removals of expired items")
    parser.add_argument("--until-stdin-closes", action="store_true", help="stop when the starting process is gone")
    return parser.parse_args()


if __name__ == "__main__":
    main()
