"""The most expensive request of each kind, its CPU time, and its memory beyond that of an idle process.

`python -m tests.http.costliest_requests` prints the table; `tests/http/test_bounded_work.py` checks the limits.
"""

import ctypes
import gc
import io
import json
import os
import random
import sys
import time
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from chalice.local import LambdaContext

import tests.conftest  # noqa: F401, isort: skip - first, because it sets the environment

from app import app
from chalicelib import storage
from chalicelib.conversations.state import MAX_BODY_VALUES, MAX_MESSAGES, MAX_TURNS_BYTES
from chalicelib.extensions import has
from chalicelib.http.operation import MAX_BODY_BYTES
from chalicelib.http.operation import MAX_BODY_VALUES as MAX_VALUES
from chalicelib.workspaces import store as workspaces
from tests import fast_moto
from tests.api import Api
from tests.engines import clear, new_engine

STATE = "/agents/support/interact/ann/state"
AGENT, CLIENTS = "/v3/agents/support", "/v2/clients"
TINY = 900_000


class Request(NamedTuple):
    """A measured request. The requests in `before` are sent first, and are not measured."""

    method: str
    path: str
    body: bytes | None = None
    before: Iterable["Request"] = ()
    headers: tuple[tuple[str, str], ...] = ()


class Cost(NamedTuple):
    """The response's status, the CPU seconds, and the peak memory in MB beyond that of the idle process."""

    status: int
    seconds: float
    megabytes: float


def filled(unit: str, start: str = '{"turns":[', end: str = "]}", size: int = TINY) -> bytes:
    """Return a body of at most this size that contains as many units as fit."""
    count = (size - len(start) - len(end)) // (len(unit) + 1)
    return (start + ",".join([unit] * count) + end).encode()


def turns(text: str, size: int) -> bytes:
    """Return a body of about this size whose turns contain messages of 200 characters each."""
    message = '{"from":"human","messages":[{"type":"text","item":{"text":"%s"}}]}'
    count = size // len(message % "") // 5
    return f'{{"turns":[{",".join([message % (text * 200)[:200]] * count)}]}}'.encode()


def noise(number: int, size: int) -> str:
    """Return text that cannot be compressed."""
    return b64encode(random.Random(number).randbytes(size)).decode()


def posted(path: str, **body: Any) -> Request:
    return Request("POST", path, json.dumps(body).encode())


def many(path: Callable[[int], str], body: Callable[[int], dict[str, Any]], count: int) -> Iterator[Request]:
    """Yield requests. Their large bodies are created only when the requests are sent."""
    return (posted(path(number), **body(number)) for number in range(count))


def change(path: str, body: bytes, *before: Request, **headers: str) -> Request:
    return Request(
        "POST", path, body, before, tuple((name.replace("_", "-"), value) for name, value in headers.items())
    )


TURN, ONE_TURN = '{"messages":[{}]}', ('{"turns":[{"messages":[', "]}]}")
MOST_MESSAGES = b'{"turns":[%s]}' % b",".join([TURN.encode()] * MAX_MESSAGES)
OTHER_MESSAGES = MOST_MESSAGES.replace(b"{}", b'{"a":1}')
LARGEST, OTHER = turns("a ", MAX_TURNS_BYTES - 400_000), turns("b ", MAX_TURNS_BYTES - 400_000)
ESCAPED = turns("é", 900_000)
MANY_ARRAYS = filled("[[[[]]]]", '{"turns":[{"x":[', "]}]}", size=MAX_BODY_VALUES // 5 * 9)
LARGE_STATES = tuple(
    change(f"/agents/support/interact/u{number}/state", turns(f"{number} x ", MAX_TURNS_BYTES - 400_000))
    for number in range(8)
)
LARGE_AGENT = json.dumps({"agent": {"vectorDb": "a " * (MAX_BODY_BYTES // 2 - 1_000)}}).encode()
WEBHOOK = {"webhook": {"url": "https://example.com/" + "x" * 2_000, "events": ["agent_created"]}}
LIST_OF_TEXTS, LIST_OF_NOISE = "name " * 100_000, noise(0, 280_000)

OVERSIZE = {
    "6 MB of empty turns": change(STATE, filled("{}", size=6_000_000)),
    "6 MB of turns with a message": change(STATE, filled(TURN, size=6_000_000)),
    "6 MB of text": change(STATE, filled("x" * 1_000, '{"turns":[{"x":"', '"}]}', size=6_000_000)),
    "6 MB agent": change("/v2/agents/support", filled("1", '{"vectorDb":[', size=6_000_000)),
    "6 MB of escaped backslashes": change(STATE, b'{"turns":[{"x":"%s"}]}' % (b"\\\\u" * 1_950_000)),
    "0.9 MB of empty turns": change(STATE, filled("{}")),
    "0.9 MB of turns with a message": change(STATE, filled(TURN)),
    "0.9 MB of messages in one turn": change(STATE, filled("{}", *ONE_TURN)),
    "0.9 MB of numbers": change(STATE, filled("1")),
    "0.9 MB of arrays": change(STATE, filled("[[[[]]]]", '{"turns":[{"x":[')),
}
"""Bodies that are rejected before they are parsed."""

# Requests that read whole transcripts.
_TRANSCRIPTS: dict[str, Request] = {
    "a search in large states": Request("GET", f"{AGENT}/convos/search?q=nowhere", None, LARGE_STATES),
    "a search that finds large states": Request("GET", f"{AGENT}/convos/search?q=x&limit=100", None, LARGE_STATES),
    "an export of large states": Request("GET", f"{AGENT}/convos/export?limit=100", None, LARGE_STATES),
    "an export of large states as CSV": Request(
        "GET", f"{AGENT}/convos/export?format=csv&limit=100", None, LARGE_STATES
    ),
} if has("transcripts") else {}  # fmt: skip
ACCEPTED = {
    "the most messages": change(STATE, MOST_MESSAGES),
    "the most messages replace others": change(STATE, MOST_MESSAGES, change(STATE, OTHER_MESSAGES)),
    "the most messages of the user": change(STATE, filled('{"from":"human","messages":[{}]}')),
    "the most invalid turns": change(STATE, filled("1", size=MAX_BODY_VALUES * 2 - 10)),
    "the most invalid mids": change(
        STATE, b'{"delete":{"mids":[%s]}}' % b",".join(b"1.%09d" % number for number in range(MAX_BODY_VALUES - 10))
    ),
    "the most unknown members": change(
        STATE, b"{%s}" % b",".join(b'"%x":1' % number for number in range(MAX_BODY_VALUES - 10))
    ),
    "the most values": change(STATE, MANY_ARRAYS),
    "the largest state": change(STATE, LARGEST),
    "the largest state replaces another": change(STATE, LARGEST, change(STATE, OTHER)),
    "the largest state with an Idempotency-Key": change(STATE, LARGEST, change(STATE, OTHER), Idempotency_Key="one"),
    "the most escaped characters": change(STATE, ESCAPED, change(STATE, ESCAPED.replace("é".encode(), "è".encode()))),
    "metadata of the largest state": change(
        STATE, b'{"metadata":{"userName":"Ann"}}', change(STATE, LARGEST)
    ),
    "delete from the most messages": change(STATE, b'{"delete":{"mids":["x"]}}', change(STATE, MOST_MESSAGES)),
    "read the largest state": Request("POST", STATE, None, (change(STATE, LARGEST),)),
    "the largest agent": Request("PATCH", AGENT, LARGE_AGENT),
    "the most values of an agent": Request(
        "PATCH", AGENT, filled("1", '{"agent":{"vectorDb":[', "]}}", size=MAX_VALUES * 2 - 50)
    ),
    "the longest numbers of an agent": Request(
        "PATCH", AGENT, filled("9" * 4_300, '{"agent":{"vectorDb":[', "]}}", size=MAX_BODY_BYTES - 10_000)
    ),
    "the most unknown members of an agent": Request(
        "PATCH", AGENT, b'{"agent":{%s}}' % b",".join(b'"%x":1' % number for number in range(MAX_VALUES - 10))
    ),
    "read the largest agent": Request("GET", AGENT, None, (Request("PATCH", AGENT, LARGE_AGENT),)),
    "a list of compressible clients": Request(
        "GET", CLIENTS, None, many(lambda number: f"{CLIENTS}/c{number}", lambda _: {"name": LIST_OF_TEXTS}, 60)
    ),
    "a list of large clients": Request(
        "GET", CLIENTS, None, many(lambda number: f"{CLIENTS}/c{number}", lambda _: {"name": LIST_OF_NOISE}, 60)
    ),
    "a list of small clients": Request(
        "GET", CLIENTS, None, many(lambda number: f"{CLIENTS}/c{number}", lambda number: {"name": "x" * 2_000}, 4_000)
    ),
    "a page of large clients": Request(
        "GET", f"{CLIENTS}?limit=100", None,
        many(lambda number: f"{CLIENTS}/c{number}", lambda _: {"name": LIST_OF_NOISE}, 60),
    ),
    "a list of large tools": Request(
        "GET", f"{AGENT}/tools", None,
        many(lambda _: f"{AGENT}/tools", lambda _: {"tool": {"name": "x", "description": LIST_OF_NOISE}}, 60),
    ),
    "a page of large agents": Request(
        "GET", "/v3/agents?limit=100", None,
        many(lambda number: f"/v2/agents/a{number}", lambda _: {"description": LIST_OF_TEXTS * 3}, 60),
    ),
    "a search of large agents": Request(
        "GET", "/v3/agents/search?limit=100", None,
        many(lambda number: f"/v2/agents/a{number}", lambda _: {"description": LIST_OF_TEXTS * 3}, 60),
    ),
    "a page of large leads": Request(
        "GET", f"{AGENT}/leads?limit=100", None,
        many(lambda _: "/v3/leads", lambda _: {"lead": {"agentId": "support", "name": LIST_OF_NOISE}}, 60),
    ),
    "a page of conversations": Request(
        "GET", "/v2/agents/support/convos", None,
        many(lambda _: f"{AGENT}/convos", lambda _: {"conversation": {"title": "t " * 30_000}}, 40),
    ),
    "a page of 100 conversations": Request(
        "GET", f"{AGENT}/convos?limit=100&q=none", None,
        many(lambda _: f"{AGENT}/convos", lambda _: {"conversation": {"title": "t " * 30_000}}, 120),
    ),
    "a page of messages that begin in other chunks": Request(
        "GET", f"{AGENT}/convos/worst/messages?limit=100", None,
        (Request("POST", "/agents/support/interact/worst/state", json.dumps(
            {"turns": [{"messages": [{"item": {"text": "x", "list": [{"a": 1}] * 78_000}}]}]}).encode(), ()),),
    ),
    **_TRANSCRIPTS,
    "all webhooks": Request(
        "GET", "/v3/webhooks", None,
        many(lambda _: "/v3/webhooks", lambda _: WEBHOOK, 50),
    ),
}  # fmt: skip
"""Requests that are parsed: they are served, or rejected by a model's rules."""


def measure(api: Api, request: Request) -> Cost:
    """Send `request` in a separate process; return its cost."""
    # Imports count towards the idle process.
    api.call(request.method, request.path, b"[]" if request.body else None)
    for one in request.before:
        answer = api.call(one.method, one.path, one.body)
        assert answer.status == 200, answer.text
    gc.collect()
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.write(writing, json.dumps(_measure(api, request)).encode())
        os._exit(0)
    os.waitpid(child, 0)
    return Cost(*json.loads(os.read(reading, 1_000)))


def _measure(api: Api, request: Request) -> tuple[int, float, float]:
    sys.stdout = io.StringIO()  # discards the log line
    gc.freeze()  # the collector must not visit objects that exist only in a test, such as the local tables
    # Free memory that still belongs to the process would hide the memory that the request takes.
    ctypes.CDLL(None).malloc_trim(0)
    Path("/proc/self/clear_refs").write_text("5")  # resets the peak
    before = memory("VmRSS")
    headers = {**api._headers, **dict(request.headers), "Content-Type": "application/json"} if request.headers else None
    event = api.event(request.method, request.path, request.body, headers)
    event["body"] = event["body"] and event["body"].decode()  # the Lambda runtime passes the body as text
    started = time.process_time()
    answer = app(event, LambdaContext("api", 256))
    seconds = time.process_time() - started
    return answer["statusCode"], seconds, memory("VmHWM") - before


def memory(name: str) -> float:
    """Return a memory figure of this process in MB."""
    (line,) = [one for one in Path("/proc/self/status").read_text().splitlines() if one.startswith(name)]
    return int(line.split()[1]) / 1024


def main() -> None:
    """Print the cost of every request."""
    fast_moto.use(storage.sdk_client("dynamodb"))
    log, sys.stdout = sys.stdout, io.StringIO()  # discards the log lines of the preparing requests
    log.write(f"{'request':<45} {'status':>6} {'CPU s':>7} {'MB':>5}\n")
    with new_engine():
        for name, request in {**OVERSIZE, **ACCEPTED}.items():
            if len(sys.argv) > 1 and sys.argv[1] not in name:
                continue
            clear()
            api = Api(workspaces.create("Test").workspace_key)
            api.post("/v2/agents/support", {})
            cost = measure(api, request)
            log.write(f"{name:<45} {cost.status:>6} {cost.seconds:>7.3f} {cost.megabytes:>5.0f}\n")
            log.flush()


if __name__ == "__main__":
    main()
