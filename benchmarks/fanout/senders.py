"""The senders that are compared: each gives a way to begin one delivery.

Ours is the product's: the threads that `delivery.deliver` gives its messages to, and the function with which it makes
a body, signs it and posts it. Its ledger is left out here; `pipeline` has the whole.
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
    """Begins deliveries of one sender that works with threads: to a URL, with so many seconds, giving the status."""
    if name == OURS:
        yield _ours
        return
    post = IN_THREADS[name]
    with futures.ThreadPoolExecutor(in_flight) as pool:
        yield lambda url, seconds: pool.submit(lambda: post(url, *message(), seconds))


def message() -> tuple[bytes, dict[str, str]]:
    """The body and the headers of a delivery: every sender makes and signs them anew for each, as the product does.

    And in the thread that sends, where that has to share Python with the others.
    """
    body = storage.encode_json({**_EVENT, "payload": {**PAYLOAD, "workspaceSecret": _WORKSPACE_SECRET}})
    headers = signature.sign([_SIGNING_SECRET], _next_id(), clock.seconds(), body)
    return body, {"Content-Type": "application/json", **headers}


def _next_id() -> str:
    # A delivery gets its id with its message: to draw a random one is no part of it.
    return f"{next(_numbers):026}"


def _ours(url: str, seconds: float) -> "futures.Future[int | None]":
    # The product's only deadline is its 30 s; whoever wants another one gives it to `sender.post`, see `hanging`.
    endpoint = {"url": url, "secrets": [{"secret": _SIGNING_SECRET}]}
    one = queue.Message("workspace", "webhook", _next_id(), "message_received", "delivery")
    return delivery.threads.submit(copy_context().run, _status, one, endpoint)


def _status(one: queue.Message, endpoint: dict[str, object]) -> int | None:
    return delivery._post(one, endpoint, _EVENT, _WORKSPACE_SECRET).status
