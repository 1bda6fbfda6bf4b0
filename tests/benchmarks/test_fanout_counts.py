"""What a delivery takes of its process, as counts: what a function, or a machine, has a bounded number of.

What it asks of the database is in `tests/webhooks/test_costs.py`, what it sends in `tests/webhooks/test_sender.py`.
"""

import json
import os
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.measure import instructions
from chalicelib import clock
from chalicelib.webhooks import delivery, endpoints, events, ledger, lookups, queue, sender
from chalicelib.workspaces.store import NewWorkspace
from tests.webhooks import pipeline
from tests.webhooks.conftest import inbox as inbox
from tests.webhooks.conftest import stream as stream
from tests.webhooks.pipeline import Inbox, Stream
from tests.webhooks.receivers import OK, Receiver, acknowledges, read_request, receiver

BATCH = 10  # what one invocation gets
TYPE = "organisation_created"
MOST_INSTRUCTIONS = 270_000


def batches(workspace_id: str, urls: list[str]) -> list[pipeline.Held]:
    """A message for each URL, each to an endpoint of its own, in batches as functions get them."""
    rows = [endpoints.create(workspace_id, {"url": url, "events": [TYPE], "enabled": True})[0] for url in set(urls)]
    ids = {row.open()["url"]: row.webhook_id for row in rows}
    happened = [events.Event(ids.new_id(), workspace_id, TYPE, {"createdAt": clock.milliseconds()}) for _ in urls]
    ledger.save_events(happened)
    told = zip(urls, happened, strict=True)
    messages = [queue.Message(workspace_id, ids[url], event.id, TYPE, event.id) for url, event in told]
    texts = [{"Body": json.dumps(message), "MessageId": "", "ReceiptHandle": ""} for message in messages]
    return [pipeline.Held(queue.FAST, texts[start : start + BATCH]) for start in range(0, len(texts), BATCH)]


@contextmanager
def threads_made() -> Iterator[Counter[str]]:
    """The threads that are made inside the block, by what they are for."""
    made: Counter[str] = Counter()
    start = threading.Thread.start

    def noted(thread: threading.Thread) -> None:
        made[thread.name.partition("_")[0]] += 1
        start(thread)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(threading.Thread, "start", noted)
        yield made


def test_batches_that_follow_each_other_use_the_threads_of_one(
    stream: Stream, workspace: NewWorkspace, inbox: Inbox
) -> None:
    with threads_made() as made:
        for batch in batches(workspace.workspace_id, [inbox.url()] * 50):
            batch.run()
            time.sleep(0.05)  # a thread is free a moment after its delivery has ended
    assert len(inbox.posts) == 50
    assert made["delivery"] <= BATCH
    assert made["lookup"] <= 1


def test_a_delivery_is_one_lookup_and_one_connection(
    stream: Stream, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: Counter[str] = Counter()

    def leads_here(host: str, port: int, **_: Any) -> list[Any]:
        asked[host] += 1
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", leads_here)
    with receiver(acknowledges) as one:
        hosts = [f"{number}.cams.test" for number in range(20)]
        for batch in batches(workspace.workspace_id, [f"http://{host}:{one.port}/" for host in hosts]):
            batch.run()
        assert one.connections == len(one.requests) == 20
    assert asked == Counter(hosts)


def test_a_burst_to_a_host_is_one_lookup(
    stream: Stream, workspace: NewWorkspace, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: Counter[str] = Counter()
    real = socket.getaddrinfo

    def counted(host: str, *arguments: Any, **options: Any) -> Any:
        asked[host] += 1
        return real(host, *arguments, **options)

    monkeypatch.setattr(lookups, "_CACHE_MS", 60_000)  # a loaded machine takes longer than a second for all of them
    monkeypatch.setattr(socket, "getaddrinfo", counted)
    lookups.cache.clear()
    for batch in batches(workspace.workspace_id, [inbox.url()] * 50):
        batch.run()
    assert len(inbox.posts) == 50
    assert asked == {"127.0.0.1": 1}


def test_a_delivery_asks_this_of_its_socket(
    stream: Stream, workspace: NewWorkspace, inbox: Inbox, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: Counter[str] = Counter()

    def counted(name: str) -> Callable[..., Any]:
        def call(self: socket.socket, *arguments: Any) -> Any:
            calls[name] += 1
            return getattr(super(watched, self), name)(*arguments)

        return call

    names = ("setsockopt", "settimeout", "connect", "send", "recv", "close", "getsockopt", "setblocking")
    watched = type("Watched", (socket.socket,), {name: counted(name) for name in names})
    (batch,) = batches(workspace.workspace_id, [inbox.url()])
    # For the sender alone: the receiver of this test has sockets, too.
    monkeypatch.setattr(sender, "socket", SimpleNamespace(**{**vars(socket), "socket": watched}))
    batch.run()
    # The answer, and the end of it. What is left of the deadline is told the kernel before each step: a timeout of
    # Python's would have it wait before each step, too, and let other threads run twice as often.
    assert calls == {"setsockopt": 1 + 4, "connect": 1, "send": 1, "recv": 2, "close": 1}


def test_a_delivery_takes_few_instructions(tmp_path: Path) -> None:
    if not instructions.is_there():
        pytest.skip("instructions are counted by valgrind, which is not installed")
    environment = {**os.environ, "CAMS_WEBHOOK_ALLOW_PRIVATE": "1"}
    with receiver(acknowledges) as one:
        command = [sys.executable, "-m", "tests.benchmarks.counted_delivery", one.url, "40"]
        assert instructions.start(command, environment, tmp_path).wait() == 0
    (count,) = instructions.read(tmp_path, [40])
    sys.stdout.write(f"{count:,.0f} instructions for a delivery: body, signature, look-up and POST\n")
    # A fifth above what it was; with a thread to ask for each look-up, and timeouts of Python's, it was 385,000.
    assert 100_000 < count <= MOST_INSTRUCTIONS


def test_fifty_deliveries_are_in_flight_when_five_batches_are(
    stream: Stream, workspace: NewWorkspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(delivery, "SLOW_SECONDS", 60.0)  # a loaded machine takes longer than 2 s to get them there
    everybody = threading.Barrier(50)

    def answers_when_all_are_there(connection: socket.socket, where: Receiver) -> None:
        read_request(connection)
        everybody.wait(20)
        connection.sendall(OK)

    with receiver(answers_when_all_are_there) as one, futures.ThreadPoolExecutor(5) as invocations:
        held = batches(workspace.workspace_id, [one.url] * 50)
        list(invocations.map(pipeline.Held.run, held))
        assert one.connections == 50
    assert not everybody.broken


def test_a_process_holds_no_more_deliveries_than_it_may_have_threads() -> None:
    assert delivery.threads._max_workers + BATCH < 1_024
