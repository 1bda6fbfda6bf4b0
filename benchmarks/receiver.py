"""A webhook receiver in its own process. It uses less CPU than any sender, and accepts a thousand connections.

python -m benchmarks.receiver [--core 1] [--certificate PEM]

- `POST /0` and `POST /200` respond after 0 and 200 milliseconds. `POST /hangs` never responds.
- `GET /arrivals` returns the arrival time of each POST by `webhook-id`, on the machine's monotonic clock.
- `GET /hanging` returns the number of hanging connections. `GET /forget` closes them.

The process prints its port at the start. It stops when its standard input closes.
"""

import argparse
import asyncio
import json
import os
import ssl
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HOSTS = [f"127.0.0.{last}" for last in range(1, 101)]
# Real deliveries go to thousands of hosts, so no sender may benefit from a reused connection.
_OK = b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: %d\r\n\r\n%b"
_arrivals: dict[str, float] = {}
_hanging: list[asyncio.Transport] = []


@contextmanager
def running(core: int, certificate: Path | None = None) -> Iterator[int]:
    """Run a receiver on a core for the duration of the block. Yield its port."""
    command = [sys.executable, "-m", "benchmarks.receiver", "--core", str(core)]
    command += ["--certificate", str(certificate)] if certificate else []
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin and process.stdout  # noqa: S101
        yield int(process.stdout.readline())
        process.stdin.close()


class _Connection(asyncio.Protocol):
    """A connection for one request. A protocol uses a third of the CPU time of asyncio's streams."""

    _received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)  # noqa: S101
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._received += data
        head, end, body = self._received.partition(b"\r\n\r\n")
        if not end:
            return
        first, *lines = head.decode("ascii").split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        if len(body) >= int(headers.get("content-length", 0)):
            self._answer(first.split(" ")[1], headers)

    def _answer(self, path: str, headers: dict[str, str]) -> None:
        content = b""
        if path == "/arrivals":
            content = json.dumps(_arrivals).encode()
        elif path == "/hanging":
            content = json.dumps({"count": len(_hanging)}).encode()
        elif path == "/forget":
            while _hanging:
                _hanging.pop().close()
        elif "webhook-id" in headers:
            _arrivals[headers["webhook-id"]] = time.monotonic()
        if path == "/hangs":
            _hanging.append(self._transport)
            return
        answer = _OK % (len(content), content)
        delay = int(path.strip("/")) / 1000 if path.strip("/").isdigit() else 0
        if delay:
            asyncio.get_running_loop().call_later(delay, self._send, answer)
        else:
            self._send(answer)

    def _send(self, answer: bytes) -> None:
        self._transport.write(answer)
        self._transport.close()


async def _serve(certificate: Path | None) -> None:
    loop = asyncio.get_running_loop()
    tls = None
    if certificate:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(certificate)
    first = await loop.create_server(_Connection, HOSTS[0], 0, backlog=4096, ssl=tls)
    port: int = first.sockets[0].getsockname()[1]
    await loop.create_server(_Connection, HOSTS[1:], port, backlog=4096, ssl=tls)
    print(port, flush=True)
    await loop.run_in_executor(None, sys.stdin.read)


def main() -> None:
    """Serve requests until the standard input closes."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.receiver")
    parser.add_argument("--core", type=int, help="the CPU core to run on")
    parser.add_argument("--certificate", type=Path, help="use TLS with this key and certificate file")
    options = parser.parse_args()
    if options.core is not None:
        os.sched_setaffinity(0, {options.core})
    asyncio.run(_serve(options.certificate))


if __name__ == "__main__":
    main()
