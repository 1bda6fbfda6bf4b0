"""Five of a hundred receivers hang: how long the events of the others wait, from the queue to their receiver.

The workers are like the cloud's: each takes up to ten messages, runs the function, and takes no others before it has
ended; a lane has so many of them. The one test of a time, because the time is what is promised.
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
from functools import partial
from typing import Any, NamedTuple

import pytest
from botocore.awsrequest import AWSResponse

from chalicelib import storage
from chalicelib.organisations import store as organisations
from chalicelib.webhooks import delivery, endpoints, queue, sender
from chalicelib.workspaces import store as workspaces
from tests.selection import whole
from tests.webhooks import pipeline
from tests.webhooks.pipeline import Held, Stream
from tests.webhooks.receivers import OK, Receiver, read_request, receiver

ENDPOINTS, HANGING = 100, 5
SLOW_WORKERS = 5
PROMISED_SECONDS = 2.0


class Lanes:
    """Queues in this process that know when each message came; moto's are too slow for this."""

    def __init__(self) -> None:
        self.lanes: dict[str, waiting.Queue[str | None]] = {lane: waiting.Queue() for lane in (queue.FAST, queue.SLOW)}
        self.came: dict[str, float] = {}
        self.in_slow_lane: set[str] = set()

    @contextmanager
    def in_place(self) -> Iterator[None]:
        def take(params: dict[str, Any], **_: Any) -> tuple[AWSResponse, dict[str, Any]]:
            sent = json.loads(params["body"])
            lane = sent["QueueUrl"].rpartition("/")[2].removeprefix(storage.table(""))
            for text in (one["MessageBody"] for one in sent["Entries"]):
                message = queue.from_text(text)
                self.came.setdefault(message.event_id, time.monotonic())
                if lane == queue.SLOW:
                    self.in_slow_lane.add(message.event_id)
                self.lanes[lane].put(text)
            return AWSResponse("", 200, {}, None), {}

        known = storage.sdk_client("sqs").meta.events
        known.register_first("before-call.sqs.SendMessageBatch", take)
        try:
            yield
        finally:
            known.unregister("before-call.sqs.SendMessageBatch", take)

    def work(self, lane: str) -> None:
        """A worker of a lane, until the lane is closed."""
        while (first := self.lanes[lane].get()) is not None:
            texts = [first]
            while len(texts) < 10:
                try:
                    text = self.lanes[lane].get_nowait()
                except waiting.Empty:
                    break
                if text is None:
                    self.lanes[lane].put(None)
                    break
                texts.append(text)
            Held(lane, [{"Body": text, "MessageId": "", "ReceiptHandle": ""} for text in texts]).run()


class Waits(NamedTuple):
    """Seconds from the queue to the receiver, of the healthy endpoints' events, and how many went the slow way."""

    healthy: list[float]
    slow_way: int

    @property
    def percentile(self) -> float:
        return statistics.quantiles(self.healthy, n=100)[98]


def run(
    stream: Stream, patch: pytest.MonkeyPatch, events: int, a_second: int, workers: int, slow_seconds: float,
    hang_seconds: float,
) -> Waits:  # fmt: skip
    counts = {queue.FAST: workers, queue.SLOW: SLOW_WORKERS}
    patch.setattr(delivery, "SLOW_SECONDS", slow_seconds)
    patch.setattr(sender, "post", partial(sender.post, deadline_seconds=hang_seconds))
    arrived: dict[str, float] = {}

    def serve(connection: socket.socket, where: Receiver) -> None:
        post = pipeline.posted(read_request(connection))
        arrived[post.id] = time.monotonic()
        if post.path == "/hangs":
            where.ended.wait()
        else:
            connection.sendall(OK)

    lanes = Lanes()
    with receiver(serve) as running, lanes.in_place():
        records, hanging = happened(stream, f"http://{running.address}", events)
        threads = [
            threading.Thread(target=lanes.work, args=(lane,)) for lane, count in counts.items() for _ in range(count)
        ]
        for thread in threads:
            thread.start()
        start = time.monotonic()
        for number, record in enumerate(records):
            time.sleep(max(0.0, start + number / a_second - time.monotonic()))
            pipeline.fan_out([record])
        end = time.monotonic() + 60
        healthy = {message for message in lanes.came if message not in hanging(lanes)}
        while not healthy <= arrived.keys() and time.monotonic() < end:
            time.sleep(0.05)
        for lane, count in counts.items():
            lanes.lanes[lane].queue.clear()
            for _ in range(count):
                lanes.lanes[lane].put(None)
        running.close()  # lets those go that hang
        for thread in threads:
            thread.join(60)
    assert healthy <= arrived.keys()
    return Waits([arrived[one] - lanes.came[one] for one in healthy], len(lanes.in_slow_lane))


def happened(stream: Stream, url: str, events: int) -> tuple[list[pipeline.Record], Any]:
    """Records of events, each of an endpoint in a workspace of its own, in no order; and whose events hang."""
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
    told = {event.id: event.workspace_id for event in pipeline.told(records)}
    return records, lambda lanes: {one for one in lanes.came if told[one] in ids[:HANGING]}


def check(waits: Waits, least: int) -> None:
    median = statistics.median(waits.healthy)
    sys.stdout.write(
        f"\nhealthy={len(waits.healthy)} median={median:.3f}s p99={waits.percentile:.3f}s "
        f"max={max(waits.healthy):.3f}s slow_lane={waits.slow_way}\n"
    )
    assert len(waits.healthy) >= least
    # The hanging ones have a lane of their own, and nobody else is in it.
    assert 0 < waits.slow_way <= least
    assert waits.percentile <= PROMISED_SECONDS


@whole
def test_five_hanging_receivers_of_a_hundred_delay_nobody_else(stream: Stream, monkeypatch: pytest.MonkeyPatch) -> None:
    # So few workers that those who hang would hold up all of them, were there one lane.
    check(run(stream, monkeypatch, 500, 25, workers=8, slow_seconds=0.5, hang_seconds=6.0), 475)


@pytest.mark.long
def test_five_hanging_receivers_of_a_hundred_delay_nobody_else_with_the_real_times(
    stream: Stream, monkeypatch: pytest.MonkeyPatch
) -> None:
    waits = run(stream, monkeypatch, 1_500, 25, workers=32, slow_seconds=delivery.SLOW_SECONDS, hang_seconds=30.0)
    check(waits, 1_425)
