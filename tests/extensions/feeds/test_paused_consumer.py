"""A consumer that pauses for 29 days reads each event once, although every process is killed at every step.

1. Each hour of two months, random requests cause events. The shards of the streams are read in random order and late;
   a fifth of the batches are processed again hours later.
2. Fan-out and the function that appends to the feed crash before and after every kind of request. Their work is
   repeated.
3. TTL deletes expired rows at a random time after their expiry.
4. The consumer stores its position together with the events of a page, or after each event. It is killed between the
   response and its store. After the first week, it pauses for 29 days.
"""

import random
from functools import partial
from typing import Any, NamedTuple

import pytest

from chalicelib import clock, storage
from chalicelib.extensions.feeds import functions
from chalicelib.extensions.feeds.extension import QUEUE
from chalicelib.extensions.feeds.feed import FeedRow, MarkRow
from chalicelib.webhooks.ledger import EventRow
from tests.api import Api
from tests.builders import lead_body
from tests.conftest import PassTime
from tests.extensions.feeds.conftest import PullEndpoint
from tests.guarantees import CaseCounter
from tests.selection import whole
from tests.webhooks import pipeline
from tests.webhooks.crashes import Queues, watched
from tests.webhooks.test_exactly_once import CrashingProcess

SEED = 20261126
HOUR, HOURS_PER_DAY, DAYS = 3_600, 24, 60
PAUSE = range(7, 36)  # the days on which the consumer reads nothing
MOST_HOURS_LATE = 20
REQUESTS = {
    "GetItem keyring", "Decrypt", "Query webhooks", "BatchWriteItem", "GetQueueUrl feeds", "SendMessageBatch feeds",
    "Query events", "TransactWriteItems", "BatchGetItem",
}  # fmt: skip

pytestmark = pytest.mark.guarantee("pulled")


class Batch(NamedTuple):
    """A batch of stream records, and the hour in which it is processed."""

    hour: int
    records: list[pipeline.Record]


class Consumer:
    """A consumer with a durable position."""

    def __init__(self, endpoint: PullEndpoint, random_: random.Random) -> None:
        self._endpoint, self._random = endpoint, random_
        self.after, self.events, self.kills = "", list[str](), 0

    def read(self) -> None:
        """Read to the end of the feed. A killed consumer starts again at the stored position."""
        has_more = True
        while has_more:
            page = self._endpoint.page(self.after, self._random.randint(1, 30))
            assert (page.status, page.json["eventsExpired"]) == (200, False), page.text
            has_more = page.json["hasMore"]
            events = page.data[: self._random.randint(0, len(page.data))] if self._random.random() < 0.5 else page.data
            if len(events) < len(page.data):
                self.kills += 1
                has_more = True
                for event in events:
                    self._store([event], event["after"])
            else:
                self._store(events, page.json["after"])

    def _store(self, events: list[dict[str, Any]], after: str) -> None:
        self.events += [event["id"] for event in events]
        self.after = after


class Writers:
    """The functions that write events to the feed. They crash at the step that has crashed least so far."""

    def __init__(self, random_: random.Random) -> None:
        self.process, self.queues = CrashingProcess(random_), Queues(random_)

    def run(self, records: list[pipeline.Record]) -> None:
        """Fan out a batch, and append its events."""
        while not self.process.invoke("fan-out", partial(pipeline.fan_out, records)):
            pass
        while (held := self.queues.take(QUEUE)).messages:
            if not self.process.invoke("append", partial(functions.append_events, {"Records": held.records}, None)):
                self.queues.give_back(held)


@whole
def test_a_consumer_that_pauses_for_29_days_reads_each_event_once(
    api: Api,
    stream: pipeline.Stream,
    pass_time: PassTime,
    no_pauses: None,
    monkeypatch: pytest.MonkeyPatch,
    count_cases: CaseCounter,
) -> None:
    random_ = random.Random(SEED)
    endpoint = PullEndpoint(api, stream, "agent_created", "client_created", "lead_captured")
    consumer, writers = Consumer(endpoint, random_), Writers(random_)
    batches: list[Batch] = []
    expected = set[str]()
    assert api.post("/v2/agents/support", {}).status == 200
    with writers.queues.in_place(), watched(writers.process, monkeypatch.setattr):
        for hour in range(DAYS * HOURS_PER_DAY):
            if random_.random() < 0.15:
                _cause_events(api, hour, random_)
                records = stream.read("agents", "clients", "leads")
                expected |= {event.id for event in pipeline.events_of(records)}
                batches += _scheduled(records, hour, random_)
            due = [batch for batch in batches if batch.hour <= hour]
            batches = [batch for batch in batches if batch.hour > hour]
            for batch in random_.sample(due, len(due)):
                writers.run(batch.records)
            if hour // HOURS_PER_DAY not in PAUSE and random_.random() < 0.2:
                consumer.read()
            if hour % HOURS_PER_DAY == 0:
                _delete_expired(random_)
            pass_time(HOUR)
    for batch in batches:
        pipeline.fan_out(batch.records)
    endpoint.run()
    consumer.read()
    assert len(consumer.events) == len(set(consumer.events))
    assert set(consumer.events) == expected
    assert len(expected) > 300
    assert {step.request for step in writers.process.seen} == REQUESTS
    assert {step for step in writers.process.seen if not writers.process.crashes[step]} == set()
    count_cases(faults=writers.process.crashes.total() + consumer.kills, states=len(expected))


def _cause_events(api: Api, hour: int, random_: random.Random) -> None:
    for number in range(random_.randint(1, 4)):
        kind = random_.choice(("agent", "client", "lead"))
        path = "/v3/leads" if kind == "lead" else f"/v2/{kind}s/{kind}-{hour}-{number}"
        assert api.post(path, lead_body(name=f"{hour}") if kind == "lead" else {}).status == 200


def _scheduled(records: list[pipeline.Record], hour: int, random_: random.Random) -> list[Batch]:
    """Return the records in batches of one table each, late or repeated."""
    by_table: dict[str, list[pipeline.Record]] = {}
    for record in records:
        by_table.setdefault(record["eventSourceARN"], []).append(record)
    batches = []
    for of_table in by_table.values():
        late = random_.choice((0, 0, 0, random_.randint(1, MOST_HOURS_LATE)))
        batches.append(Batch(hour + late, of_table))
        if random_.random() < 0.2:
            batches.append(Batch(hour + late + random_.randint(0, MOST_HOURS_LATE), of_table[-2:]))
    return batches


def _delete_expired(random_: random.Random) -> None:
    """Delete some of the rows whose TTL has passed, as DynamoDB does within days."""
    for row_class, prefix in ((FeedRow, "pull#"), (MarkRow, "pulled#"), (EventRow, "")):
        for row in storage.scan(row_class, row_class.expires_at < clock.to_datetime(clock.seconds())):
            if row.event_id.startswith(prefix) and random_.random() < 0.5:
                storage.delete_many([row])
