"""The bulkhead: if five of a hundred receivers hang, the other receivers' events are not delayed.

Workers behave as in the cloud: each takes at most ten messages, runs the function, and waits until it returns.
The test measures wall-clock time, because the promise is about time.
"""

import json
import queue as waiting
import random
import socket
import statistics
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import pytest
from botocore.awsrequest import AWSResponse

from chalicelib import storage
from chalicelib.organisations import store as organisations
from chalicelib.webhooks import endpoints, queue, retry_policy
from chalicelib.workspaces import store as workspaces
from tests.selection import whole
from tests.sending.receivers import OK, Receiver, read_request, receiver
from tests.webhooks import pipeline
from tests.webhooks.pipeline import Held, Stream

ENDPOINTS, HANGING = 100, 5
SLOW_WORKERS = 5
PROMISED_SECONDS = 2.0


class LocalQueues:
    """In-process queues that record when each event was enqueued. moto's queues are too slow."""

    def __init__(self) -> None:
        self.queues: dict[str, waiting.Queue[str | None]] = {name: waiting.Queue() for name in (queue.FAST, queue.SLOW)}
        self.enqueued: dict[str, float] = {}
        self.slow_events: set[str] = set()

    @contextmanager
    def in_place(self) -> Iterator[None]:
        def take(params: dict[str, Any], **_: Any) -> tuple[AWSResponse, dict[str, Any]]:
            sent = json.loads(params["body"])
            name = sent["QueueUrl"].rpartition("/")[2].removeprefix(storage.table(""))
            for text in (one["MessageBody"] for one in sent["Entries"]):
                for event_id in queue.DeliveryMessage.parse(text).event_ids:
                    self.enqueued.setdefault(event_id, time.monotonic())
                    if name == queue.SLOW:
                        self.slow_events.add(event_id)
                self.queues[name].put(text)
            return AWSResponse("", 200, {}, None), {}

        known = storage.sdk_client("sqs").meta.events
        known.register_first("before-call.sqs.SendMessageBatch", take)
        try:
            yield
        finally:
            known.unregister("before-call.sqs.SendMessageBatch", take)

    def work(self, name: str) -> None:
        """Run a queue worker until it receives None."""
        while (first := self.queues[name].get()) is not None:
            texts = [first]
            while len(texts) < 10:
                try:
                    text = self.queues[name].get_nowait()
                except waiting.Empty:
                    break
                if text is None:
                    self.queues[name].put(None)
                    break
                texts.append(text)
            Held(name, [{"Body": text, "MessageId": "", "ReceiptHandle": ""} for text in texts]).run()


class Waits(NamedTuple):
    """The seconds that healthy endpoints' events take from queue to receiver, and the number of slow events."""

    healthy: list[float]
    slow_events: int

    @property
    def percentile(self) -> float:
        return statistics.quantiles(self.healthy, n=100)[98]


def run(
    stream: Stream, patch: pytest.MonkeyPatch, events: int, a_second: int, workers: int, slow_seconds: float,
    hang_seconds: float,
) -> Waits:  # fmt: skip
    counts = {queue.FAST: workers, queue.SLOW: SLOW_WORKERS}
    patch.setattr(retry_policy, "SLOW_SECONDS", slow_seconds)
    patch.setattr(retry_policy, "POST_SECONDS", hang_seconds)
    arrived: dict[str, float] = {}

    def serve(connection: socket.socket, where: Receiver) -> None:
        post = pipeline.posted(read_request(connection))
        arrived[post.id] = time.monotonic()
        if post.path == "/hangs":
            where.ended.wait()
        else:
            connection.sendall(OK)

    queues = LocalQueues()
    with receiver(serve) as running, queues.in_place():
        records, hanging = make_events(stream, f"http://{running.address}", events)
        threads = [
            threading.Thread(target=queues.work, args=(name,)) for name, count in counts.items() for _ in range(count)
        ]
        for thread in threads:
            thread.start()
        start = time.monotonic()
        for number, record in enumerate(records):
            time.sleep(max(0.0, start + number / a_second - time.monotonic()))
            pipeline.fan_out([record])
        end = time.monotonic() + 60
        healthy = {message for message in queues.enqueued if message not in hanging(queues)}
        while not healthy <= arrived.keys() and time.monotonic() < end:
            time.sleep(0.05)
        for name, count in counts.items():
            queues.queues[name].queue.clear()
            for _ in range(count):
                queues.queues[name].put(None)
        running.close()  # closes the hanging connections
        for thread in threads:
            thread.join(60)
    assert healthy <= arrived.keys()
    return Waits([arrived[one] - queues.enqueued[one] for one in healthy], len(queues.slow_events))


def make_events(stream: Stream, url: str, events: int) -> tuple[list[pipeline.Record], Any]:
    """Create one endpoint per workspace, and events for all endpoints.

    Return the shuffled records, and a function that selects the hanging endpoints' events.
    """
    with pipeline.cheap_transactions():
        ids = [workspaces.create(str(number)).workspace_id for number in range(ENDPOINTS)]
    for number, workspace_id in enumerate(ids):
        path = "hangs" if number < HANGING else "answers"
        document = {"url": f"{url}/{path}", "events": ["organisation_created"], "enabled": True}
        with storage.unit_of_work():
            endpoints.create(workspace_id, document)
    for number in range(events):
        organisation = organisations.new(ids[number % ENDPOINTS], f"org-{number}")
        with storage.unit_of_work():
            organisations.save(organisation, {}, {"name": f"organisation {number}"})
    records = stream.read()
    random.Random(3).shuffle(records)
    workspace_of = {event.id: event.workspace_id for event in pipeline.events_of(records)}
    return records, lambda queues: {one for one in queues.enqueued if workspace_of[one] in ids[:HANGING]}


def check(waits: Waits, least: int) -> None:
    median = statistics.median(waits.healthy)
    sys.stdout.write(
        f"\nhealthy={len(waits.healthy)} median={median:.3f}s p99={waits.percentile:.3f}s "
        f"max={max(waits.healthy):.3f}s slow_events={waits.slow_events}\n"
    )
    assert len(waits.healthy) >= least
    # Only the hanging endpoints' events moved to the slow queue.
    assert 0 < waits.slow_events <= least
    assert waits.percentile <= PROMISED_SECONDS


@whole
def test_five_hanging_receivers_of_a_hundred_do_not_delay_the_others(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    # With a single queue, the hanging receivers would block all of these workers.
    check(run(stream, monkeypatch, 500, 25, workers=8, slow_seconds=0.5, hang_seconds=6.0), 475)


@pytest.mark.long
def test_five_hanging_receivers_of_a_hundred_do_not_delay_the_others_with_production_times(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = run(stream, monkeypatch, 1_500, 25, workers=32, slow_seconds=retry_policy.SLOW_SECONDS, hang_seconds=30.0)
    check(waits, 1_425)
