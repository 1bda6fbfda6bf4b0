"""The sending process of the fan-out question, on its own core. It prints its figures as JSON.

python -m benchmarks.sending FUNCTION ARGUMENTS

CAMS runs the deployed code: the thread pool of `delivery.deliver`, and the function that builds, signs and posts a
body, without the ledger. The peers are common ways to send webhooks: a thread pool with one request of a client library
per delivery. No peer sets a deadline for the whole delivery, or checks the resolved address.
"""

import itertools
import json
import os
import resource
import socket
import sys
import time
import urllib.request
from collections import deque
from collections.abc import Callable
from concurrent import futures
from contextvars import copy_context
from pathlib import Path
from urllib.parse import urlsplit

from benchmarks import receiver
from benchmarks.results import OURS
from chalicelib import clock, storage
from chalicelib.webhooks import delivery, queue, signature

_CORE = 0
_DELAY = 200
_DELIVERIES = 800
_SECONDS = 30.0
# The interval for starting new deliveries. Waking up for each delivery would count as the sender's work.
_POLL_SECONDS = 0.005
_SIGNING_SECRET, _WORKSPACE_SECRET = signature.new_secret(), "cams_events_" + "0" * 43
_PAYLOAD = {
    "agentId": "support",
    "agentName": "Customer support",
    "conversationId": "ann",
    "messageContent": "Where is my order? I have been waiting for it since the day before yesterday.",
    "messageType": "text",
    "from": "human",
    "channel": "webchat",
    "createdAt": 1795228530123,
}
_EVENT = {"type": "message_received", "payload": _PAYLOAD}
_numbers = itertools.count()

Begin = Callable[[str], "futures.Future[int | None]"]
"""Starts a delivery to a URL. The result is the status."""


def rate(name: str, port: int, in_flight: int) -> tuple[float, float]:
    """Return the deliveries per second and the milliseconds of CPU per delivery, with a constant number in flight.

    The clocks are read after the first and after the last deliveries. The number in flight is constant in between.
    """
    urls = itertools.cycle(f"http://{host}:{port}/{_DELAY}" for host in receiver.HOSTS)
    marks, free, number = {in_flight, in_flight + _DELIVERIES}, deque([None] * in_flight), itertools.count(1)
    readings: list[tuple[int, float, float]] = []
    failures: list[object] = []

    def end(future: "futures.Future[int | None]") -> None:
        ended = next(number)  # atomic, so no thread's count is lost
        if ended in marks:
            readings.append((ended, time.monotonic(), time.process_time()))
        outcome = future.exception() or future.result()
        if outcome != 200:
            failures.append(outcome)
        free.append(None)

    begin = _sender(name, in_flight)
    while len(readings) < len(marks) or len(free) < in_flight:
        while free and len(readings) < len(marks):
            free.pop()
            begin(next(urls)).add_done_callback(end)
        time.sleep(_POLL_SECONDS)
    if failures:
        raise RuntimeError(f"{len(failures)} deliveries failed: {failures[0]}")
    count, seconds, cpu = (last - first for first, last in zip(*readings, strict=True))
    return count / seconds, cpu / count * 1000


def memory(port: int, count: int) -> float:
    """Return the growth of memory in MB with `count` deliveries of CAMS in flight to receivers that never respond.

    The baseline is the memory after one completed delivery.
    """
    host = f"https://{receiver.HOSTS[0]}:{port}"
    _ours(f"{host}/0").result()
    before = _resident(host, 0)
    waiting = [_ours(f"{host}/hangs") for _ in range(count)]
    grown = _resident(host, count) - before
    _get(f"{host}/forget")
    futures.wait(waiting)
    return grown / 1e6


def _sender(name: str, in_flight: int) -> Begin:
    if name == OURS:
        return _ours
    post = {"sockets": _sockets, "requests": _requests, "urllib3": _urllib3()}[name]
    pool = futures.ThreadPoolExecutor(in_flight)
    return lambda url: pool.submit(lambda: post(url, *_message()))


def _ours(url: str) -> "futures.Future[int | None]":
    endpoint = {"url": url, "secrets": [{"secret": _SIGNING_SECRET}]}
    message = queue.QueuedDelivery("workspace", "webhook", _next_id(), "message_received", "delivery")
    return delivery.threads[queue.FAST].submit(copy_context().run, _status, message, endpoint)  # type: ignore[arg-type]


def _status(message: queue.QueuedDelivery, endpoint: dict[str, object]) -> int | None:
    return delivery._post(message, endpoint, _EVENT, _WORKSPACE_SECRET).status


def _message() -> tuple[bytes, dict[str, str]]:
    """Return the body and headers of a delivery. As in CAMS, the sending thread builds and signs them."""
    body = storage.encode_json({**_EVENT, "payload": {**_PAYLOAD, "workspaceSecret": _WORKSPACE_SECRET}})
    headers = signature.sign([_SIGNING_SECRET], _next_id(), clock.seconds(), body)
    return body, {"Content-Type": "application/json", **headers}


def _next_id() -> str:
    # The message of a delivery already has its id, so generating a random id is not part of the work.
    return f"{next(_numbers):026}"


def _sockets(url: str, body: bytes, headers: dict[str, str]) -> int:
    """Send with one thread per delivery, without a deadline, TLS or checks. This is the minimum."""
    parts = urlsplit(url)
    lines = [f"POST {parts.path} HTTP/1.1", f"Host: {parts.netloc}", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    with socket.create_connection((parts.hostname or "", parts.port or 80), _SECONDS) as connected:
        connected.sendall("\r\n".join([*lines, "Connection: close", "", ""]).encode() + body)
        answer = b"".join(iter(lambda: connected.recv(8192), b""))
    return int(answer.split(b" ", 2)[1])


def _requests(url: str, body: bytes, headers: dict[str, str]) -> int:
    """Post with requests. Sessions are not thread-safe, so each call creates one."""
    import requests

    return requests.post(url, data=body, headers=headers, timeout=_SECONDS).status_code


def _urllib3() -> Callable[[str, bytes, dict[str, str]], int]:
    """Post with a connection pool that all threads share."""
    import urllib3

    pool = urllib3.PoolManager()
    return lambda url, body, headers: (
        pool.request("POST", url, body=body, headers=headers, timeout=_SECONDS, retries=False).status
    )


def _get(url: str) -> dict[str, float]:
    with urllib.request.urlopen(url, timeout=30) as answer:  # noqa: S310
        content: dict[str, float] = json.loads(answer.read() or b"{}")
        return content


def _resident(host: str, count: int) -> int:
    """Wait until `count` connections hang at the receiver, and return the resident bytes of the process."""
    deadline = time.monotonic() + _SECONDS - 5
    while _get(f"{host}/hanging")["count"] < count:
        if time.monotonic() > deadline:
            raise RuntimeError(f"fewer than {count} connections opened in time")
        time.sleep(0.05)
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * resource.getpagesize()


def main(function: str, arguments: str) -> None:
    """Print the result of a function in this module."""
    os.sched_setaffinity(0, {_CORE})
    figures = sys.stdout
    with Path(os.devnull).open("w", encoding="utf-8") as sys.stdout:  # the product logs each delivery
        functions: dict[str, Callable[..., object]] = {"rate": rate, "memory": memory}
        print(json.dumps(functions[function](**json.loads(arguments))), file=figures)


if __name__ == "__main__":
    main(*sys.argv[1:])
