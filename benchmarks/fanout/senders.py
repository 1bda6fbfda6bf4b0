"""The compared senders: each starts one delivery.

CAMS uses the product's code: the thread pool of `delivery.deliver`, and the function that builds, signs and posts a
body. The ledger is not included; `pipeline` measures the complete delivery.
"""

import itertools
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from contextvars import copy_context

from benchmarks.peers import plain_sender
from chalicelib import clock, storage
from chalicelib.webhooks import delivery, queue, signature

OURS, FLOOR = "CAMS", "sockets"
IN_THREADS: dict[str, plain_sender.Post] = {
    FLOOR: plain_sender.with_sockets,
    "requests": plain_sender.with_requests,
    "urllib3": plain_sender.with_urllib3,
}
IN_A_LOOP = {"aiohttp": plain_sender.with_aiohttp}
Begin = Callable[[str, float], "futures.Future[int | None]"]

_SIGNING_SECRET, _WORKSPACE_SECRET = signature.new_secret(), "cams_events_" + "0" * 43
PAYLOAD = {
    "agentId": "support",
    "agentName": "Customer support",
    "conversationId": "ann",
    "messageContent": "Where is my order? I have been waiting for it since the day before yesterday.",
    "messageType": "text",
    "from": "human",
    "channel": "webchat",
    "createdAt": 1795228530123,
}
_numbers = itertools.count()
_EVENT = {"type": "message_received", "payload": PAYLOAD}


@contextmanager
def sender(name: str, in_flight: int) -> Iterator[Begin]:
    """Yield a function that starts a delivery of a threaded sender: URL and timeout in, future status out."""
    if name == OURS:
        yield _ours
        return
    post = IN_THREADS[name]
    with futures.ThreadPoolExecutor(in_flight) as pool:
        yield lambda url, seconds: pool.submit(lambda: post(url, *message(), seconds))


def message() -> tuple[bytes, dict[str, str]]:
    """Return the body and headers of a delivery. Every sender builds and signs them for each delivery, as CAMS does.

    Threaded senders do this in the sending thread, so the work competes for the interpreter lock.
    """
    body = storage.encode_json({**_EVENT, "payload": {**PAYLOAD, "workspaceSecret": _WORKSPACE_SECRET}})
    headers = signature.sign([_SIGNING_SECRET], _next_id(), clock.seconds(), body)
    return body, {"Content-Type": "application/json", **headers}


def _next_id() -> str:
    # The message of a delivery already has its id, so generating a random one is not part of the work.
    return f"{next(_numbers):026}"


def _ours(url: str, seconds: float) -> "futures.Future[int | None]":
    # The product has one deadline of 30 s, so `seconds` has no effect here.
    endpoint = {"url": url, "secrets": [{"secret": _SIGNING_SECRET}]}
    one = queue.Delivery("workspace", "webhook", _next_id(), "message_received", "delivery")
    return delivery.threads[queue.FAST].submit(copy_context().run, _status, one, endpoint)  # type: ignore[arg-type]


def _status(one: queue.Delivery, endpoint: dict[str, object]) -> int | None:
    return delivery._post(one, endpoint, _EVENT, _WORKSPACE_SECRET).status
