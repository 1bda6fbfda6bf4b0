"""The engine: DynamoDB, its streams, KMS, SES and SQS in one process on 127.0.0.1. Its writes survive `kill -9`.

    python -m infra.local.engine --state DIR [--port N]

When it is ready, it prints one line of JSON: `port`, `records`, `seconds`, and the credentials that a request must be
signed with. It runs with the interpreter of `.venv-engine`, without the application's packages. This module has the
life cycle (check, lock, restore, listen, stop); `journal` has the file format, `emulator` the adapter to MiniStack.
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
from typing import Any, NoReturn

from infra.local import emulator, journal, lifeline, signatures

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Any]]
Send = Callable[[Any], Awaitable[None]]
Application = Callable[[Scope, Receive, Send], Awaitable[None]]

_FORMAT = 1
_SECONDS_FOR_PREDECESSOR = 10.0
# In bytes. Replaying a smaller tail takes less time than writing a snapshot.
_MIN_TAIL_TO_COMPACT = 1 << 20


class Journal:
    """The open journal: a head with a snapshot of the state, and a tail of the calls since."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.head = self.end = self.records = 0
        # The last deletion of which the journal may have a trace, None without one; a restart begins again.
        self.deleted_at: float | None = None
        self.compacted_at = 0.0
        if path.exists():
            self._restore()
            self.deleted_at = time.monotonic()
        if self.head == 0:
            self._replace_file("")
        self.descriptor = journal.open_for_append(path, self.end)

    def write(self, record: journal.Record) -> None:
        """Append a record. Exits the process on failure."""
        try:
            self.end += journal.append(self.descriptor, record)
        except OSError as error:
            _stop_at_once(error)  # the change is in memory but not in the journal, so it must not be acknowledged
        if emulator.deletes_items(record):
            self.deleted_at = time.monotonic()

    def compact(self) -> None:
        """Replace head and tail by a new snapshot if the tail is larger than the head."""
        if self.end - self.head > max(self.head, _MIN_TAIL_TO_COMPACT):
            self._replace_by_snapshot()

    def forget(self) -> None:
        """Replace head and tail by a snapshot without deleted items, if items were deleted recently.

        Three places have deleted items for a while: the tail, the streams until the worker has processed their
        records, and the requests of the last transactions.
        """
        now = time.monotonic()
        if emulator.trim_streams(self.path.parent / "positions.json"):
            self.deleted_at = now
        if self.deleted_at is None:
            return
        is_last = now - self.deleted_at > emulator.SECONDS_OF_TRANSACTIONS
        if is_last or self.deleted_at >= self.compacted_at:
            self._replace_by_snapshot()
        if is_last:
            self.deleted_at = None

    def _replace_by_snapshot(self) -> None:
        # The old descriptor stays open until then: its number must not become that of a socket.
        old = self.descriptor
        try:
            self._replace_file(emulator.snapshot())
            self.descriptor = journal.open_for_append(self.path, self.end)
        except OSError as error:
            _stop_at_once(error)  # later changes might go to the replaced file
        os.close(old)
        self.compacted_at = time.monotonic()

    def _restore(self) -> None:
        for record, end in journal.read_records(self.path):
            if self.head == 0:
                if (record.get("format"), record.get("engine")) != (_FORMAT, emulator.VERSION):
                    raise SystemExit(
                        f"Another version of the engine wrote {self.path}; "
                        "move the file away to start with empty tables."
                    )
                if record["state"]:
                    emulator.restore(record["state"])
                self.head = end
            else:
                emulator.replay(record)
                self.records += 1
            self.end = end

    def _replace_file(self, state: str) -> None:
        header = {"format": _FORMAT, "engine": emulator.VERSION, "state": state}
        self.head = self.end = journal.replace(self.path, [header])


def _stop_at_once(error: OSError) -> NoReturn:
    print(f"The engine stops: it cannot write to its journal ({error}).", file=sys.stderr, flush=True)
    os._exit(1)


def main() -> None:
    """Restore the state and serve until a signal stops the process."""
    arguments = _arguments()
    if message := emulator.wrong_version():
        raise SystemExit(message)
    arguments.state.mkdir(mode=0o700, parents=True, exist_ok=True)
    lock = _lock(arguments.state / "engine.lock")
    if arguments.until_stdin_closes:
        lifeline.end_with_parent()
    listener = socket.create_server(("127.0.0.1", arguments.port))
    started = time.monotonic()
    application = emulator.load(arguments.state)
    path = arguments.state / "engine.journal"
    try:
        if arguments.move_damage_to:
            journal.cut(path, arguments.move_damage_to)
        opened = Journal(path)
    except (journal.JournalError, emulator.ReplayError) as error:
        raise SystemExit(f"The engine does not start: {error}") from None
    opened.compact()
    emulator.record_to(opened.write)
    credentials = signatures.find_or_create(arguments.state)
    ready = {
        "port": listener.getsockname()[1],
        "records": opened.records,
        "seconds": round(time.monotonic() - started, 2),
        **credentials._asdict(),
    }
    guarded = _guard(_announced(application, ready), credentials)
    asyncio.run(_serve(guarded, listener, opened, arguments.expire_every))
    opened.forget()
    opened.compact()
    os.close(opened.descriptor)
    lock.close()


async def _serve(application: Application, listener: socket.socket, opened: Journal, expire_every: float) -> None:
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
    await serve(application, config, shutdown_trigger=stop.wait, mode="asgi")
    expiry.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await expiry


def _guard(application: Application, credentials: signatures.Credentials) -> Application:
    """Refuse what is not signed with the credentials, and administration, which changes state without a record."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await application(scope, receive, send)
            return
        body = await _read_body(receive) if scope["type"] == "http" else b""
        if scope["type"] == "http" and _is_allowed(scope, body, credentials):
            await application(scope, _with_body(body, receive), send)
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
        "message": "The local engine takes only requests that are signed with the credentials in its `environment`.",
    }
).encode()


def _is_allowed(scope: Scope, body: bytes, credentials: signatures.Credentials) -> bool:
    path, query = scope["raw_path"].decode("latin-1"), scope["query_string"].decode("latin-1")
    request = signatures.Request(scope["method"], path, query, scope["headers"], body)
    is_administration = scope["path"].startswith("/_") and scope["method"] != "GET"
    return not is_administration and signatures.is_signed(request, credentials)


async def _read_body(receive: Receive) -> bytes:
    parts, more = [], True
    while more:
        message = await receive()
        parts.append(message.get("body", b""))
        more = message.get("more_body", False)
    return b"".join(parts)


def _with_body(body: bytes, receive: Receive) -> Receive:
    """A `receive` whose first message is the body that has been read."""
    first = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Any:
        return first.pop() if first else await receive()

    return receive_again


def _announced(application: Application, ready: dict[str, Any]) -> Application:
    """Print `ready` when the application has started."""

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        async def send_and_announce(message: Any) -> None:
            await send(message)
            if message["type"] == "lifespan.startup.complete":
                print(json.dumps(ready), flush=True)

        await application(scope, receive, send_and_announce if scope["type"] == "lifespan" else send)

    return answer


async def _expire(opened: Journal, every: float) -> None:
    while True:
        await asyncio.sleep(every)
        emulator.expire(opened.write)
        opened.forget()


def _lock(path: Path) -> Any:
    """Lock the state until the process ends. Waits up to 10 seconds for an engine that is stopping."""
    file = path.open("a")
    deadline = time.monotonic() + _SECONDS_FOR_PREDECESSOR
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return file
        except BlockingIOError:
            if time.monotonic() > deadline:
                raise SystemExit(f"Another engine uses {path.parent}.") from None
            time.sleep(0.05)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--state", type=Path, required=True, help="directory of the journal")
    parser.add_argument("--port", type=int, default=0, help="port on 127.0.0.1; 0 for any free port")
    parser.add_argument("--expire-every", type=float, default=60.0, help="seconds between deletions of expired items")
    parser.add_argument("--move-damage-to", type=Path, metavar="FILE", help="cut a damaged journal; keep the rest here")
    parser.add_argument("--until-stdin-closes", action="store_true", help="stop when the parent process dies")
    return parser.parse_args()


if __name__ == "__main__":
    main()
